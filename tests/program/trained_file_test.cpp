// Goal: models from files are trained by the engine, with equal bits for every cut and number of replicas, and their
// checkpoints can be evaluated and gone on with. Method: models of the repository and small recorded ones are trained
// on samples by formula.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/program/trained_runs.hpp"
#include "tests/support/formula_tensors.hpp"
#include "tests/support/paths.hpp"
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t micro_batches = 4;

training_engine_options options(std::uint32_t stages, std::uint32_t replicas = 1,
                                const std::string& partition = "parameters") {
  training_engine_options made;
  made.training.num_micro_batches = micro_batches;
  made.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  made.training.learning_rate = [](std::uint64_t step) { return step < 2 ? 1e-3 : 5e-4; };
  made.training.loss = training_loss_options{.kind = loss_kind::nll};
  made.pipeline.stages = stages;
  made.pipeline.replicas = replicas;
  made.pipeline.partition = partition;
  made.pipeline.run.threads = 1;
  return made;
}

/// Of 28 x 28 digits; sizes differ.
data_iterator digits(std::uint64_t first = 0) {
  return [next = first]() mutable -> std::optional<batch> {
    const std::string name = "digits" + std::to_string(next);
    const std::int64_t rows = 3 + static_cast<std::int64_t>(next++ % 3);
    return batch{formula_uniform(name + ".x", {rows, 1, 28, 28}), formula_below(name + ".y", {rows}, 10)};
  };
}

std::string lenet() {
  return (data_dir() / "mnist/lenet.pt").string();
}

trained_outcome train_lenet(const training_engine_options& how) {
  auto engine = training_engine::create(lenet(), how);
  EXPECT_TRUE(engine) << to_string(engine.error());
  if (!engine) return {};
  (*engine)->set_dataiterator(digits());
  return train(**engine, 3);
}

TEST(trained_file, has_equal_bits_for_every_cut_and_number_of_replicas) {
  const trained_outcome one = train_lenet(options(1));
  ASSERT_EQ(one.losses.size(), 3u);
  EXPECT_NE(one.losses[0], one.losses[1]);
  expect_equal(train_lenet(options(3)), one);
  expect_equal(train_lenet(options(2, 2, "uniform")), one);
  expect_equal(train_lenet(options(2, 4, "0,5,15")), one);
  training_engine_options timed = options(2, 1, "profile");
  timed.pipeline.sample.set("", formula_uniform("sample", {4, 1, 28, 28}));
  expect_equal(train_lenet(timed), one);
  training_engine_options again = options(3);
  again.training.recompute_interval = 2;
  expect_equal(train_lenet(again), one);
}

TEST(trained_file, has_the_names_of_its_state_dict) {
  const auto engine = get(training_engine::create(lenet(), options(2)));
  const state_dict before = get(get(pipeline_engine::create(lenet()))->module_state_dict());
  const state_dict at_first = get(engine->module_state_dict());
  ASSERT_EQ(at_first.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(at_first[i].name, before[i].name);
    EXPECT_TRUE(at::equal(at_first[i].tensor, before[i].tensor)) << before[i].name;
  }
}

}  // namespace
}  // namespace troupe::testing
