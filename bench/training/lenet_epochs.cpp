// LeNet on the images of MNIST, over several epochs in shuffled order, with an evaluation on test images after each.
//
//   lenet_epochs TRAINING_SET TEST_SET EPOCHS [--processes]
//
// The sets are named as troupe has them: mnist:train-images-idx3-ubyte.gz mnist:data/mnist
#include <cstring>
#include <iostream>

#include <fmt/core.h>
#include <torch/torch.h>

#include "bench_model.hpp"
#include <troupe/program.hpp>
#include <troupe/training_engine.hpp>

namespace {

using namespace troupe;

constexpr std::int64_t micro_batch = 32;
constexpr std::uint64_t micro_batches = 4;

/// A whole set in memory, in an order that is drawn for each epoch.
class shuffled_samples {
 public:
  explicit shuffled_samples(const data_set& set) : all_(get(set.read({0, set.size()}))), size_(set.size()) {}

  [[nodiscard]] std::uint64_t steps() const { return size_ / (micro_batch * micro_batches); }

  [[nodiscard]] data_iterator epoch(std::uint64_t number) const {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(bench::bench_seed + number);
    const at::Tensor order = at::randperm(static_cast<std::int64_t>(size_), generator);
    return [this, order, next = std::int64_t{0}]() mutable -> std::optional<batch> {
      if (next + micro_batch > order.size(0)) return std::nullopt;
      const at::Tensor chosen = order.narrow(0, next, micro_batch);
      next += micro_batch;
      return batch{all_.inputs.only().index_select(0, chosen), all_.labels.only().index_select(0, chosen)};
    };
  }

 private:
  sample_block all_;
  std::uint64_t size_;
};

int run(const std::string& training_set, const std::string& test_set, std::uint64_t epochs, bool in_processes) {
  const data_set_ptr training = get(open_data(training_set));
  const std::uint64_t steps = training->size() / (micro_batch * micro_batches);
  training_engine_options options;
  options.training.num_micro_batches = micro_batches;
  options.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  options.training.learning_rate = get(learning_rate_of(4e-3, "one_cycle:total=" + std::to_string(epochs * steps)));
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.training.seed = bench::bench_seed;
  options.pipeline.run.threads = 1;
  options.pipeline.run.workers.enabled = in_processes;
  const auto engine = get(training_engine::create(
      {.layers = bench::make_bench_model("lenet").layers, .num_stages = 2, .partition_method = "0,2,8"}, options));
  const shuffled_samples samples(*training);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    engine->set_dataiterator(samples.epoch(epoch));
    double loss = 0;
    for (std::uint64_t step = 0; step < steps; ++step) loss += get(engine->train_batch()).loss;
    const run_result tested = get(engine->evaluate(test_set));
    fmt::print("| {} | {:.4f} | {:.4f} | {:.4f} |\n", epoch + 1, loss / static_cast<double>(steps),
               tested["accuracy"].value(), tested["cross_entropy"].value());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const program self(argc, argv);
  if (argc < 4) {
    std::cerr << "lenet_epochs TRAINING_SET TEST_SET EPOCHS [--processes]\n";
    return 2;
  }
  at::set_num_threads(1);
  return run(argv[1], argv[2], std::stoul(argv[3]), argc > 4 && std::strcmp(argv[4], "--processes") == 0);
} catch (const std::exception& caught) {
  std::cerr << "lenet_epochs: " << caught.what() << '\n';
  return 1;
}
