// A small GPT over the characters of a text, as layers of C++: it is trained in two stages, and its loss on the last
// tenth of the text is printed now and then. char_gpt.py is the plain loop in Python that it is compared with.
//
//   char_gpt TEXT STEPS [--processes]
//   char_gpt TEXT --export FILE           the initial weights, for char_gpt.py
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include <fmt/core.h>
#include <torch/torch.h>

#include <troupe/program.hpp>
#include <troupe/training_engine.hpp>

namespace {

using namespace troupe;

constexpr std::int64_t width = 96;
constexpr std::int64_t heads = 4;
constexpr std::int64_t block = 64;
constexpr int depth = 4;
constexpr std::int64_t rows = 8;
constexpr std::uint64_t micro_batches = 4;
constexpr std::uint64_t seed = 7;
constexpr std::uint64_t held_out_batches = 32;
constexpr std::uint64_t evaluated_every = 250;

struct embedding : torch::nn::Module {
  explicit embedding(std::int64_t characters)
      : token(register_module("token", torch::nn::Embedding(characters, width))),
        position(register_parameter("position", at::randn({block, width}) * 0.02)) {}
  at::Tensor forward(const at::Tensor& tokens) { return token(tokens) * 0.02 + position; }

  torch::nn::Embedding token;
  at::Tensor position;
};

struct transformer_block : torch::nn::Module {
  transformer_block()
      : norm1(register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        attention(register_module("attention", torch::nn::Linear(width, 3 * width))),
        projection(register_module("projection", torch::nn::Linear(width, width))),
        norm2(register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        wide(register_module("wide", torch::nn::Linear(width, 4 * width))),
        narrow(register_module("narrow", torch::nn::Linear(4 * width, width))) {}

  at::Tensor forward(at::Tensor x) {
    const auto parts = attention(norm1(x)).reshape({x.size(0), x.size(1), 3, heads, width / heads});
    const auto of = [&](std::int64_t which) { return parts.select(2, which).transpose(1, 2); };
    const at::Tensor seen = at::scaled_dot_product_attention(of(0), of(1), of(2), {}, 0.0, true);
    x = x + projection(seen.transpose(1, 2).reshape(x.sizes()));
    return x + narrow(torch::gelu(wide(norm2(x))));
  }

  torch::nn::LayerNorm norm1;
  torch::nn::Linear attention;
  torch::nn::Linear projection;
  torch::nn::LayerNorm norm2;
  torch::nn::Linear wide;
  torch::nn::Linear narrow;
};

std::vector<layer_spec> layers_of(std::int64_t characters) {
  std::vector<layer_spec> layers = {
      layer_spec("Embedding", [characters] { return std::make_shared<embedding>(characters); })};
  for (int index = 0; index < depth; ++index) {
    layers.push_back(layer_spec("Block", [] { return std::make_shared<transformer_block>(); }));
  }
  layers.push_back(layer_spec("LayerNorm", [] { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})); }));
  layers.push_back(layer_spec("Linear", [characters] { return torch::nn::Linear(width, characters); }));
  return layers;
}

class characters_of_text {
 public:
  explicit characters_of_text(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    const std::set<char> known(text.begin(), text.end());
    if (text.size() < 10 * (block + 1)) throw std::runtime_error(file + " is no long text");
    std::vector<std::int64_t> ids;
    ids.reserve(text.size());
    for (const char each : text) ids.push_back(std::distance(known.begin(), known.find(each)));
    kinds_ = static_cast<std::int64_t>(known.size());
    const auto cut = static_cast<std::int64_t>(ids.size() * 9 / 10);
    const at::Tensor all = at::tensor(ids);
    training_ = all.narrow(0, 0, cut);
    held_out_ = all.narrow(0, cut, all.size(0) - cut);
  }
  [[nodiscard]] std::int64_t kinds() const { return kinds_; }

  /// Windows whose places follow from the number of the batch alone, by a formula that Python has as well.
  [[nodiscard]] batch drawn(std::uint64_t number, bool is_held_out) const {
    const at::Tensor& from = is_held_out ? held_out_ : training_;
    std::vector<at::Tensor> inputs;
    std::vector<at::Tensor> labels;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint64_t word = (number * rows + static_cast<std::uint64_t>(row) + 1) * 0x9e3779b97f4a7c15U;
      const auto at = static_cast<std::int64_t>((word >> 20U) % static_cast<std::uint64_t>(from.size(0) - block));
      inputs.push_back(from.narrow(0, at, block));
      labels.push_back(from.narrow(0, at + 1, block));
    }
    return batch{at::stack(inputs), at::stack(labels)};
  }

 private:
  std::int64_t kinds_ = 0;
  at::Tensor training_;
  at::Tensor held_out_;
};

at::Tensor mean_of_tokens(const at::Tensor& outputs, const at::Tensor& labels) {
  return torch::nn::functional::cross_entropy(outputs.flatten(0, 1), labels.flatten());
}

double held_out_loss(training_engine& engine, const characters_of_text& text) {
  const auto made = get(engine.eval_batch(
      [&text, next = std::uint64_t{0}]() mutable -> std::optional<batch> { return text.drawn(next++, true); },
      {.num_micro_batches = held_out_batches}));
  return made.loss.front();
}

pipeline_module module_of(const characters_of_text& text) {
  return {.layers = layers_of(text.kinds()),
          .num_stages = 2,
          .loss_fn = [](const at::Tensor& outputs,
                        const at::Tensor& labels) { return std::vector<at::Tensor>{mean_of_tokens(outputs, labels)}; },
          .partition_method = "0,3,7"};
}

std::unique_ptr<training_engine> make_engine(const characters_of_text& text, std::uint64_t steps, bool in_processes) {
  training_engine_options options;
  options.training.num_micro_batches = micro_batches;
  options.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  options.training.learning_rate = get(
      learning_rate_of(1e-3, "cosine:total=" + std::to_string(std::max<std::uint64_t>(steps, 101)) + ":warmup=100"));
  options.training.clip_norm = 1;
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.training.seed = seed;
  options.pipeline.run.threads = 1;
  options.pipeline.run.workers.enabled = in_processes;
  return get(training_engine::create(module_of(text), options));
}

int write_export(training_engine& engine, const std::string& file) {
  c10::Dict<std::string, at::Tensor> all;
  for (const named_tensor& each : get(engine.module_state_dict())) all.insert(each.name, each.tensor.clone());
  const std::vector<char> bytes = torch::pickle_save(all);
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return 0;
}

int train(training_engine& engine, const characters_of_text& text, std::uint64_t steps) {
  engine.set_dataiterator(
      [&text, next = std::uint64_t{0}]() mutable -> std::optional<batch> { return text.drawn(next++, false); });
  for (std::uint64_t step = 1; step <= steps; ++step) {
    const double loss = get(engine.train_batch()).loss;
    if (step > 10 && step % evaluated_every != 0 && step != steps) continue;
    fmt::print("{} {:.7f} {:.5f}\n", step, loss, held_out_loss(engine, text));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const program self(argc, argv);
  if (argc < 3) {
    std::cerr << "char_gpt TEXT STEPS [--processes], or char_gpt TEXT --export FILE\n";
    return 2;
  }
  at::set_num_threads(1);
  const characters_of_text text(argv[1]);
  const bool exports = argc > 3 && std::strcmp(argv[2], "--export") == 0;
  const std::uint64_t steps = exports ? 0 : std::stoul(argv[2]);
  const auto engine = make_engine(text, steps, argc > 3 && std::strcmp(argv[3], "--processes") == 0);
  return exports ? write_export(*engine, argv[3]) : train(*engine, text, steps);
} catch (const std::exception& caught) {
  std::cerr << "char_gpt: " << caught.what() << '\n';
  return 1;
}
