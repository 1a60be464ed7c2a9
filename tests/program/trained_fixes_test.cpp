// Goal: the advice of the errors of a training works when it is followed to the letter. Method: numbers that grow
// without end, and a bit of a replica's weights that is flipped in its memory; E0620 is in trained_file_workers_test.
#include <cmath>
#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/program/state_memory.hpp"
#include "tests/program/trained_runs.hpp"
#include "tests/support/formula_tensors.hpp"
#include "tests/support/paths.hpp"
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// "0.weight" is the first parameter of a stage, behind the page of the header.
constexpr std::int64_t first_weight = 4096;

std::unique_ptr<training_engine> engine_with(double rate, std::uint32_t replicas = 1) {
  training_engine_options how;
  how.training.num_micro_batches = 2;
  how.training.learning_rate = [rate](std::uint64_t) { return rate; };
  how.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  how.pipeline.stages = 2;
  how.pipeline.replicas = replicas;
  how.pipeline.run.threads = 1;
  return get(training_engine::create((source_dir() / "tests/program/recorded_training/mlp.pt2").string(), how));
}

batch sample(std::uint64_t number) {
  const std::string name = "fixes" + std::to_string(number);
  return batch{formula_uniform(name + ".x", {3, 12}), formula_below(name + ".y", {3}, 5)};
}

data_iterator samples(std::uint64_t first = 0) {
  return [next = first]() mutable -> std::optional<batch> { return sample(next++); };
}

TEST(trained_fixes, of_a_gradient_that_is_not_finite_lower_the_learning_rate) {
  const auto too_fast = engine_with(1e30);
  too_fast->set_dataiterator(samples());
  expected<train_output> done = too_fast->train_batch();
  for (int step = 1; step < 5 && done; ++step) done = too_fast->train_batch();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, error_code::gradient_not_finite);
  EXPECT_THAT(done.error().fix, HasSubstr("lower the learning rate"));
  const auto slower = engine_with(1e-2);
  slower->set_dataiterator(samples());
  for (const double loss : train(*slower, 5).losses) EXPECT_TRUE(std::isfinite(loss));
}

TEST(trained_fixes, of_a_gradient_that_is_not_finite_look_for_such_values_in_the_data) {
  const auto engine = engine_with(1e-2);
  std::uint64_t next = 0;
  engine->set_dataiterator([&]() -> std::optional<batch> {
    batch made = sample(next++);
    if (next == 2) made.inputs.begin()->second[0][0] = std::numeric_limits<float>::infinity();
    return made;
  });
  const auto done = engine->train_batch();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, error_code::gradient_not_finite);
  EXPECT_THAT(done.error().fix, HasSubstr("look for"));
  EXPECT_THAT(to_string(done.error()), HasSubstr("micro-batch 1"));  // where they are
  engine->set_dataiterator(samples());
  EXPECT_TRUE(engine->train_batch());
}

TEST(trained_fixes, of_replicas_that_differ_load_the_last_checkpoint_into_a_new_engine) {
  const auto dir = fs::temp_directory_path() / ("test-trained-fixes-" + std::to_string(::getpid()));
  trained_outcome wanted;
  {
    const auto undisturbed = engine_with(1e-2);
    undisturbed->set_dataiterator(samples());
    static_cast<void>(train(*undisturbed, 2));
    wanted = train(*undisturbed, 2);
  }
  {
    const auto damaged = engine_with(1e-2, 2);
    damaged->set_dataiterator(samples());
    static_cast<void>(train(*damaged, 2));
    ASSERT_TRUE(damaged->save_checkpoint(dir, "last"));
    const auto memories = state_memories();
    ASSERT_EQ(memories.size(), 4u);
    flip_bit(memories.front(), first_weight);
    const auto done = damaged->train_batch();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, error_code::replicas_differ) << to_string(done.error());
    EXPECT_THAT(done.error().fix, HasSubstr("from the last checkpoint"));
  }
  const auto without = engine_with(1e-2);
  const auto loaded = without->load_checkpoint(dir);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  without->set_dataiterator(samples(loaded->micro_batches));
  expect_equal(train(*without, 2), wanted);
  fs::remove_all(dir);
}

}  // namespace
}  // namespace troupe::testing
