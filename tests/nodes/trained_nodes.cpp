// What training_test launches: a training whose losses and weights are printed to the last bit, step after step.
//
//   trained_nodes PROTECTION STAGES REPLICAS STEPS [THREADS]
//
// PROTECTION as protection_of() takes it. With THREADS it runs in the threads of one process.
#include <cstdlib>
#include <iostream>
#include <string>

#include <torch/torch.h>

#include <troupe/program.hpp>
#include <troupe/training_engine.hpp>

namespace {

using namespace troupe;

pipeline_module network(std::uint32_t stages) {
  pipeline_module made;
  made.layers.push_back(layer_spec("Linear", [] { return torch::nn::Linear(32, 128); }));
  for (int layer = 0; layer < 3; ++layer) {
    made.layers.push_back(layer_spec("BatchNorm1d", [] { return torch::nn::BatchNorm1d(128); }));
    made.layers.push_back(layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }));
    made.layers.push_back(layer_spec("Dropout", [] { return torch::nn::Dropout(0.1); }));
    made.layers.push_back(layer_spec("Linear", [] { return torch::nn::Linear(128, 128); }));
  }
  made.num_stages = stages;
  made.partition_method = "uniform";
  return made;
}

data_iterator batches() {
  return [next = std::uint64_t{0}]() mutable -> std::optional<batch> {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 + next);
    const std::int64_t rows = 5 + static_cast<std::int64_t>(next++ % 4);
    return batch{at::randn({rows, 32}, generator), at::randint(128, {rows}, generator, at::kLong)};
  };
}

/// FNV-1a over the bytes of all weights.
std::uint64_t hash_of(const state_dict& weights) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const named_tensor& each : weights) {
    const at::Tensor value = each.tensor.contiguous();
    const auto* const bytes = static_cast<const unsigned char*>(value.const_data_ptr());
    for (std::size_t at = 0; at < value.nbytes(); ++at) hash = (hash ^ bytes[at]) * 0x100000001b3U;
  }
  return hash;
}

expected<void> train(const char* const* argv, bool in_threads) {
  training_engine_options options;
  options.training.num_micro_batches = 4;
  options.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  options.training.learning_rate = [](std::uint64_t) { return 1e-3; };
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  auto protect = protection_of(argv[1]);
  if (!protect) return tl::make_unexpected(protect.error());
  options.training.protect = *protect;
  options.pipeline.replicas = static_cast<std::uint32_t>(std::atoi(argv[3]));
  options.pipeline.run.threads = 1;
  options.pipeline.run.workers.enabled = !in_threads;
  auto engine = training_engine::create(network(static_cast<std::uint32_t>(std::atoi(argv[2]))), options);
  if (!engine) return tl::make_unexpected(engine.error());
  (*engine)->set_dataiterator(batches());
  for (int step = 0; step < std::atoi(argv[4]); ++step) {
    const auto done = (*engine)->train_batch();
    if (!done) return tl::make_unexpected(done.error());
    std::cout << "step " << done->step << " loss " << std::hexfloat << done->loss << std::endl;
  }
  const auto weights = (*engine)->module_state_dict();
  if (!weights) return tl::make_unexpected(weights.error());
  std::cout << "weights " << std::hex << hash_of(*weights) << std::endl;
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const troupe::program program{argc, argv};
  if (argc < 5) return 2;
  const auto done = train(argv, argc > 5);
  if (done) return 0;
  std::cerr << to_string(done.error()) << '\n';
  return static_cast<int>(troupe::status_of(done.error().code));
}
