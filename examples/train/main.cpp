// LeNet is trained in two stages on 9,000 images of MNIST's test set, and tried on the other 1,000. Arguments: the data
// directory, --processes for a worker process for each stage, and faults such as kill:stage=stage.1,at=mb5, each of
// which hits its stage in the middle of a step. The weights have the same bits with and without.
#include <cstring>
#include <iostream>
#include <string>
#include <utility>

#include <torch/torch.h>

#include <troupe/training_engine.hpp>
#include <troupe/troupe.hpp>

namespace {

constexpr std::uint64_t micro_batch = 32;
constexpr std::uint64_t micro_batches_of_a_step = 4;
constexpr std::uint64_t trained_on = 9000;
constexpr std::uint64_t steps = 140;  // two times over the samples

/// Samples [begin, end) of another set.
class part_of final : public troupe::data_set {
 public:
  part_of(troupe::data_set_ptr all, std::uint64_t begin, std::uint64_t end)
      : all_(std::move(all)), begin_(begin), end_(end) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return end_ - begin_; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return all_->sample_shape(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return all_->classes(); }
  [[nodiscard]] std::string name() const override { return all_->name(); }
  [[nodiscard]] troupe::expected<troupe::sample_block> read(troupe::sample_range range) const override {
    return all_->read({begin_ + range.begin, begin_ + range.end});
  }

 private:
  troupe::data_set_ptr all_;
  std::uint64_t begin_;
  std::uint64_t end_;
};

troupe::pipeline_module lenet() {
  using troupe::layer_spec;
  const auto pool = [](const at::Tensor& x) { return torch::max_pool2d(torch::relu(x), 2); };
  return {
      .layers = {layer_spec("Conv2d", [] { return torch::nn::Conv2d(1, 10, 5); }), layer_spec::function("Pool", pool),
                 layer_spec("Conv2d", [] { return torch::nn::Conv2d(10, 20, 5); }), layer_spec::function("Pool", pool),
                 layer_spec::function("Flatten", [](const at::Tensor& x) { return x.flatten(1); }),
                 layer_spec("Linear", [] { return torch::nn::Linear(320, 50); }),
                 layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }),
                 layer_spec("Linear", [] { return torch::nn::Linear(50, 10); })},
      .num_stages = 2};
}

/// The samples of a set, one micro-batch after the other.
troupe::data_iterator micro_batches_of(const troupe::data_set_ptr& data) {
  return [data, next = std::uint64_t{0}]() mutable -> std::optional<troupe::batch> {
    if (next == data->size()) return std::nullopt;
    const std::uint64_t begin = std::exchange(next, std::min(data->size(), next + micro_batch));
    return troupe::get(data->read({begin, next}));
  };
}

troupe::training_engine_options options_of(int argc, char** argv) {
  troupe::training_engine_options options;
  options.training.num_micro_batches = micro_batches_of_a_step;
  options.training.optimizer = {.kind = troupe::optimizer_kind::adamw, .weight_decay = 0.01};
  options.training.learning_rate = [](std::uint64_t step) { return step < 100 ? 2e-3 : 5e-4; };
  options.training.loss = troupe::training_loss_options{.kind = troupe::loss_kind::cross_entropy};
  options.pipeline.run.threads = 1;
  for (int at = 2; at < argc; ++at) {
    if (std::strcmp(argv[at], "--processes") == 0) {
      options.pipeline.run.workers.enabled = true;
    } else {
      options.pipeline.run.faults.add(argv[at]);
    }
  }
  return options;
}

/// Equal for equal bits of all weights.
std::uint64_t hash_of(const troupe::state_dict& weights) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const troupe::named_tensor& each : weights) {
    const auto* const bytes = static_cast<const unsigned char*>(each.tensor.data_ptr());
    for (std::size_t at = 0; at < each.tensor.nbytes(); ++at) hash = (hash ^ bytes[at]) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace

int main(int argc, char** argv) try {
  const troupe::program self(argc, argv);
  const troupe::data_set_ptr all =
      troupe::get(troupe::open_data("mnist:" + std::string(argc > 1 ? argv[1] : "data") + "/mnist"));
  const auto training = std::make_shared<part_of>(all, 0, trained_on);
  const auto held_out = std::make_shared<part_of>(all, trained_on, all->size());
  auto engine = troupe::get(troupe::training_engine::create(lenet(), options_of(argc, argv)));
  engine->set_dataiterator(troupe::repeating_loader([&] { return micro_batches_of(training); }));
  for (std::uint64_t step = 0; step < steps; ++step) {
    const troupe::train_output done = troupe::get(engine->train_batch());
    if (step % 20 == 0 || step + 1 == steps) std::cout << "step " << done.step << ": loss " << done.loss << '\n';
  }
  std::cout << "hash of the weights: " << std::hex << hash_of(troupe::get(engine->module_state_dict())) << std::dec
            << '\n';
  std::cout << troupe::result_table(troupe::get(engine->evaluate(held_out)), 100);
  return 0;
} catch (const troupe::error_exception& e) {
  std::cerr << e.what() << '\n';
  return static_cast<int>(troupe::status_of(e.details().code));
}
