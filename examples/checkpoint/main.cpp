// A checkpoint as DeepSpeed lays it out: a pipeline of three stages saves a file for each of its layers, and a pipeline
// of two stages loads them and computes the same.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>
#include <unistd.h>

#include <troupe/troupe.hpp>

namespace {

namespace fs = std::filesystem;

/// Each engine that is made of this has random weights of its own.
troupe::pipeline_module network(std::uint32_t stages) {
  using troupe::layer_spec;
  return {.layers = {layer_spec("Linear", [] { return torch::nn::Linear(16, 32); }),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }),
                     layer_spec("LayerNorm", [] { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({32})); }),
                     layer_spec("Linear", [] { return torch::nn::Linear(32, 10); })},
          .num_stages = stages};
}

at::Tensor outputs_of(troupe::pipeline_engine& engine) {
  bool is_given = false;
  const auto one_batch = [&]() -> std::optional<troupe::batch> {
    if (std::exchange(is_given, true)) return std::nullopt;
    return troupe::batch{torch::linspace(-1, 1, 64).reshape({4, 16}), torch::zeros({4}, torch::kLong)};
  };
  return troupe::get(engine.eval_batch(one_batch, {.compute_loss = false})).outputs.at(0);
}

void show_files(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(folder)) names.push_back(each.path().filename().string());
  std::ranges::sort(names);
  for (const std::string& each : names) std::cout << "  " << each << '\n';
}

}  // namespace

int main() try {
  const fs::path dir = fs::temp_directory_path() / ("troupe-example-" + std::to_string(::getpid()));
  const auto three = troupe::get(troupe::pipeline_engine::create(network(3)));
  troupe::get(three->save_checkpoint(dir, "step100", {{"epoch", 7}}));
  std::cout << three->num_stages() << " stages have saved:\n";
  show_files(dir / "step100");

  const auto two = troupe::get(troupe::pipeline_engine::create(network(2)));
  const bool was_equal = torch::equal(outputs_of(*two), outputs_of(*three));
  const troupe::loaded_checkpoint loaded = troupe::get(two->load_checkpoint(dir));  // the tag that dir/latest names
  fs::remove_all(dir);
  std::cout << two->num_stages() << " stages have loaded " << loaded.tag << " of epoch "
            << std::get<std::int64_t>(loaded.client_state.at("epoch").value) << '\n';
  const bool is_equal = torch::equal(outputs_of(*two), outputs_of(*three));
  std::cout << "outputs: " << (was_equal ? "equal" : "different") << " before the load, "
            << (is_equal ? "equal" : "different") << " after it\n";
  return was_equal || !is_equal ? 1 : 0;
} catch (const troupe::error_exception& e) {
  std::cerr << e.what() << '\n';
  return static_cast<int>(troupe::status_of(e.details().code));
}
