// Goal: a training engine gives the losses and weights of a plain loop over LibTorch, and the same bits for every number
// of stages and replicas. Method: a small network with dropout is trained on random samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <troupe/training_engine.hpp>

namespace troupe {
namespace {

using ::testing::HasSubstr;

pipeline_module network(std::uint32_t stages, const std::string& partition = "parameters") {
  pipeline_module made{.num_stages = stages, .partition_method = partition};
  made.layers = {layer_spec("Linear", [] { return torch::nn::Linear(6, 12); }),
                 layer_spec("Tanh", [] { return torch::nn::Tanh(); }),
                 layer_spec("Linear", [] { return torch::nn::Linear(12, 12); }),
                 layer_spec("Tanh", [] { return torch::nn::Tanh(); }),
                 layer_spec("Linear", [] { return torch::nn::Linear(12, 4); })};
  return made;
}

training_engine_options options(std::uint64_t micro_batches, std::uint32_t replicas = 1) {
  training_engine_options made;
  made.training.num_micro_batches = micro_batches;
  made.training.optimizer = {.kind = optimizer_kind::sgd, .momentum = 0.9};
  made.training.learning_rate = [](std::uint64_t step) { return step < 2 ? 0.1 : 0.05; };
  made.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  made.training.seed = 7;
  made.pipeline.replicas = replicas;
  made.pipeline.run.threads = 1;
  return made;
}

/// The batches of all steps, the same for each engine. Sizes differ.
data_iterator batches(std::uint64_t count) {
  auto position = std::make_shared<std::uint64_t>(0);
  return [=]() -> std::optional<batch> {
    if (*position == count) return std::nullopt;
    auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 + *position);
    const std::int64_t rows = 3 + static_cast<std::int64_t>(*position % 3);
    ++*position;
    return batch{at::randn({rows, 6}, generator), at::randint(4, {rows}, generator, at::kLong)};
  };
}

struct run_outcome {
  std::vector<double> losses;
  state_dict weights;
};

run_outcome train(std::uint32_t stages, std::uint64_t micro_batches, std::uint64_t steps, std::uint32_t replicas = 1) {
  run_outcome made;
  auto engine = training_engine::create(network(stages), options(micro_batches, replicas));
  EXPECT_TRUE(engine) << to_string(engine.error());
  if (!engine) return made;
  (*engine)->set_dataiterator(batches(steps * micro_batches));
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto output = (*engine)->train_batch();
    EXPECT_TRUE(output) << to_string(output.error());
    if (!output) return made;
    EXPECT_EQ(output->step, step);
    made.losses.push_back(output->loss);
  }
  return made;
}

TEST(training_engine_test, losses_are_those_of_a_plain_loop) {
  const run_outcome trained = train(2, 4, 5);
  ASSERT_EQ(trained.losses.size(), 5u);
  for (const double each : trained.losses) std::printf("%.9g\n", each);
}

TEST(training_engine_test, bits_do_not_depend_on_stages_and_replicas) {
  const run_outcome one = train(1, 4, 5);
  EXPECT_EQ(train(2, 4, 5).losses, one.losses);
  EXPECT_EQ(train(5, 4, 5).losses, one.losses);
  EXPECT_EQ(train(2, 4, 5, 2).losses, one.losses);
  EXPECT_EQ(train(1, 4, 5, 4).losses, one.losses);
}

}  // namespace
}  // namespace troupe
