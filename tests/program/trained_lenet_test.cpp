// Goal: a training learns. Method: LeNet sees 9,000 of the images of MNIST's test set three times, in an order drawn
// for each epoch, and then tells the digits of the other 1,000.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/paths.hpp"
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

constexpr std::int64_t trained_on = 9000;
constexpr std::int64_t tested_on = 1000;
constexpr std::int64_t micro_batch = 15;
constexpr std::uint64_t micro_batches = 4;
constexpr std::uint64_t epochs = 3;
constexpr std::uint64_t all_steps = epochs * trained_on / (micro_batch * micro_batches);

pipeline_module lenet() {
  const auto pool = [](const at::Tensor& x) { return torch::max_pool2d(torch::relu(x), 2); };
  return {
      .layers = {layer_spec("Conv2d", [] { return torch::nn::Conv2d(1, 10, 5); }), layer_spec::function("Pool", pool),
                 layer_spec("Conv2d", [] { return torch::nn::Conv2d(10, 20, 5); }), layer_spec::function("Pool", pool),
                 layer_spec("Flatten", [] { return torch::nn::Flatten(); }),
                 layer_spec("Linear", [] { return torch::nn::Linear(320, 50); }),
                 layer_spec("ReLU", [] { return torch::nn::ReLU(); }),
                 layer_spec("Linear", [] { return torch::nn::Linear(50, 10); })},
      .num_stages = 2};
}

data_iterator shuffled(const sample_block& all, std::uint64_t epoch) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(100 + epoch);
  return [&all, order = at::randperm(trained_on, generator), next = std::int64_t{0}]() mutable -> std::optional<batch> {
    if (next == trained_on) return std::nullopt;
    const at::Tensor chosen = order.narrow(0, next, micro_batch);
    next += micro_batch;
    return batch{all.inputs.only().index_select(0, chosen), all.labels.only().index_select(0, chosen)};
  };
}

TEST(trained_lenet, tells_digits_that_it_has_not_seen) {
  const data_set_ptr set = get(open_data("mnist:" + (data_dir() / "mnist").string()));
  const sample_block all = get(set->read({0, set->size()}));
  training_engine_options options;
  options.training.num_micro_batches = micro_batches;
  options.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  options.training.learning_rate = get(learning_rate_of(4e-3, "one_cycle:total=" + std::to_string(all_steps)));
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.pipeline.run.threads = 1;
  const auto engine = get(training_engine::create(lenet(), options));
  engine->set_dataiterator(
      repeating_loader([&all, epoch = std::uint64_t{0}]() mutable { return shuffled(all, epoch++); }));
  for (std::uint64_t step = 0; step < all_steps; ++step) ASSERT_TRUE(engine->train_batch());
  const auto tested = get(engine->eval_batch(
      [&all, done = false]() mutable -> std::optional<batch> {
        if (std::exchange(done, true)) return std::nullopt;
        return batch{all.inputs.only().narrow(0, trained_on, tested_on),
                     all.labels.only().narrow(0, trained_on, tested_on)};
      },
      {.compute_loss = false, .reduce_output = reduction::none}));
  const at::Tensor right = tested.outputs.at(0).argmax(1).eq(all.labels.only().narrow(0, trained_on, tested_on));
  EXPECT_GE(right.sum().item<std::int64_t>(), 950);
}

}  // namespace
}  // namespace troupe::testing
