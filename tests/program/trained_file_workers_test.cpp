// Goal: a model from a file that is trained in worker processes has the bits of one in threads, also when workers die,
// and after a load whose weights are those of another file. Method: real kills. Workers are this program, started
// again: main() is that of trained_workers_test.cpp.
#include "tests/program/trained_file_workers.hpp"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/program/state_memory.hpp"
#include "tests/program/trained_runs.hpp"
#include "tests/support/formula_tensors.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {

namespace fs = std::filesystem;

expected<std::unique_ptr<training_engine>> make_file_engine(const std::string& model, bool in_workers,
                                                            std::uint32_t replicas, fault_plan faults,
                                                            const std::string& log) {
  training_engine_options options;
  options.training.num_micro_batches = 4;
  options.training.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01};
  options.training.learning_rate = [](std::uint64_t) { return 1e-3; };
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.pipeline.stages = 2;
  options.pipeline.replicas = replicas;
  options.pipeline.run.threads = 1;
  options.pipeline.run.workers.enabled = in_workers;
  if (in_workers) options.pipeline.run.workers.timeout = std::chrono::seconds{1};
  options.pipeline.run.faults = std::move(faults);
  options.pipeline.run.log.file = log;
  return training_engine::create(model, options);
}

namespace {

constexpr std::uint64_t few_steps = 6;

data_iterator pictures(std::int64_t channels, std::int64_t size) {
  return [=, next = std::uint64_t{0}]() mutable -> std::optional<batch> {
    const std::string name = "workers" + std::to_string(next);
    const std::int64_t rows = 2 + static_cast<std::int64_t>(next++ % 2);
    return batch{formula_uniform(name + ".x", {rows, channels, size, size}), formula_below(name + ".y", {rows}, 10)};
  };
}

class trained_file_in_workers : public ::testing::TestWithParam<case_of_faults> {};

TEST_P(trained_file_in_workers, has_the_bits_of_threads) {
  const auto model = (data_dir() / "mnist/lenet.pt").string();
  static const trained_outcome undisturbed = [&] {
    const auto engine = get(make_file_engine(model, false, 1));
    engine->set_dataiterator(pictures(1, 28));
    return train(*engine, few_steps);
  }();
  const case_of_faults& given = GetParam();
  ::setenv(model_variable, model.c_str(), 1);
  ::setenv(replicas_variable, std::to_string(given.replicas).c_str(), 1);
  fault_plan plan;
  for (const std::string& each : given.faults) plan.add(each);
  const fs::path log = fs::temp_directory_path() / ("test-trained-file-" + std::to_string(::getpid()) + ".log");
  auto engine = make_file_engine(model, true, given.replicas, plan, log.string());
  ASSERT_TRUE(engine) << to_string(engine.error());
  (*engine)->set_dataiterator(pictures(1, 28));
  expect_equal(train(**engine, few_steps), undisturbed);
  engine->reset();
  EXPECT_EQ(lines_with("was injected", log), given.faults.size());
  fs::remove(log);
  ::unsetenv(model_variable);
}

data_iterator samples_of_mlp() {
  return [next = 0]() mutable -> std::optional<batch> {
    const std::string name = "workers" + std::to_string(next++);
    return batch{formula_uniform(name + ".x", {3, 12}), formula_below(name + ".y", {3}, 5)};
  };
}

const case_of_faults file_cases[] = {
    {"undisturbed", 1, {}},
    {"first_stage_dies", 1, {"kill:stage=stage.0,at=mb2"}},
    {"last_stage_dies_twice", 1, {"kill:stage=stage.1,at=mb1", "kill:stage=stage.1,at=mb3"}},
    {"a_replica_dies", 2, {"kill:stage=stage.1,at=mb2", "kill:stage=stage.0,at=mb3"}},
};
INSTANTIATE_TEST_SUITE_P(faults, trained_file_in_workers, ::testing::ValuesIn(file_cases),
                         [](const auto& each) { return std::string(each.param.name); });

/// What training leaves alone comes from the checkpoint, too, also to workers.
TEST(trained_file_with_frozen_statistics, takes_those_of_a_checkpoint) {
  const auto model = (source_dir() / "tests/program/recorded_training/mlp.pt2").string();
  ::setenv(model_variable, model.c_str(), 1);
  ::setenv(replicas_variable, "1", 1);
  const auto dir = fs::temp_directory_path() / ("test-frozen-statistics-" + std::to_string(::getpid()));
  {
    const auto other = get(pipeline_engine::create(model));
    state_dict weights = get(other->module_state_dict());
    for (named_tensor& each : weights) {
      if (each.name.ends_with("running_mean")) each.tensor = each.tensor + 0.25;
    }
    ASSERT_TRUE(other->load_module_state_dict(weights));
    ASSERT_TRUE(other->save_checkpoint(dir, "other"));
  }
  std::vector<trained_outcome> made;
  for (const bool in_workers : {false, true}) {
    const auto plan = in_workers ? fault_plan{}.add("kill:stage=stage.0,at=mb2") : fault_plan{};
    const auto engine = get(make_file_engine(model, in_workers, 1, plan));
    const auto loaded = engine->load_checkpoint(dir, {}, {.module_only = true});
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    engine->set_dataiterator(samples_of_mlp());
    made.push_back(train(*engine, 2));
  }
  expect_equal(made[1], made[0]);
  const auto plain = get(make_file_engine(model, false, 1));
  plain->set_dataiterator(samples_of_mlp());
  EXPECT_NE(train(*plain, 1).losses.front(), made[0].losses.front());
  fs::remove_all(dir);
  ::unsetenv(model_variable);
}

TEST(trained_file_whose_weights_are_lost, goes_on_from_the_last_checkpoint_in_a_new_engine) {
  const auto model = (data_dir() / "mnist/lenet.pt").string();
  ::setenv(model_variable, model.c_str(), 1);
  ::setenv(replicas_variable, "1", 1);
  const auto dir = fs::temp_directory_path() / ("test-lost-weights-" + std::to_string(::getpid()));
  trained_outcome wanted;
  {
    const auto undisturbed = get(make_file_engine(model, false, 1));
    undisturbed->set_dataiterator(pictures(1, 28));
    static_cast<void>(train(*undisturbed, 1));
    undisturbed->set_dataiterator(pictures(1, 28));
    wanted = train(*undisturbed, 2);
  }
  {
    const auto lost = get(make_file_engine(model, true, 1, fault_plan{}.add("kill:stage=stage.1,at=mb2,step=1")));
    lost->set_dataiterator(pictures(1, 28));
    static_cast<void>(train(*lost, 1));  // before it, weights can be drawn anew
    ASSERT_TRUE(lost->save_checkpoint(dir, "last"));
    constexpr std::int64_t hash_of_layout = 8;
    for (const fs::path& each : state_memories()) flip_bit(each, hash_of_layout);
    lost->set_dataiterator(pictures(1, 28));
    const auto done = lost->train_batch();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, error_code::training_state_lost) << to_string(done.error());
    EXPECT_THAT(done.error().fix, ::testing::HasSubstr("load the last checkpoint into a new engine"));
  }
  const auto again = get(make_file_engine(model, true, 1));
  const auto loaded = again->load_checkpoint(dir);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  again->set_dataiterator(pictures(1, 28));
  expect_equal(train(*again, 2), wanted);
  fs::remove_all(dir);
  ::unsetenv(model_variable);
}

}  // namespace
}  // namespace troupe::testing
