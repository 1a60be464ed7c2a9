// Goal: the production actors and engines of one process count every micro-batch exactly once, in order, whatever moves
// next, and leave a legal trace. Method: thousands of seeded schedules over random pipelines, judged by a plain loop;
// equal seeds must give equal runs. tests/simulation has deaths, workers and graphs.
#include <random>

#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "support/simulated_world.hpp"
#include "testing/trace_checker.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

world_options random_world(std::uint64_t seed) {
  std::mt19937_64 random{seed * 7919 + 13};
  world_options options;
  options.seed = seed;
  options.stages = 1 + static_cast<std::uint32_t>(random() % 5);
  options.replicas = 1 + static_cast<std::uint32_t>(random() % 3);
  options.num_pipe_buffers = std::nullopt;
  if (const auto buffers = static_cast<std::uint32_t>(random() % 5); buffers > 0) options.num_pipe_buffers = buffers;
  options.depths.from_loader = 1 + static_cast<std::uint32_t>(random() % 6);
  options.depths.between_stages = 1 + static_cast<std::uint32_t>(random() % 8);
  options.slowness_of_replica_0 = random() % 4 == 0 ? 10 : 1;
  options.calls.clear();
  for (std::uint64_t calls = 1 + random() % 3; calls > 0; --calls) options.calls.push_back(random() % 25);
  if (random() % 2 == 0) options.micro_batch_bytes = limits::window_bytes / (1 + random() % 16);
  options.is_rereadable = random() % 2 == 0;
  return options;
}

constexpr std::uint64_t seeds = sanitized ? 250 : 2000;

TEST(simulation, every_seed_folds_each_micro_batch_once_and_leaves_a_legal_trace) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const world_options options = random_world(seed);
    const world_report report = simulate(options);
    ASSERT_EQ(fault_in(options, report), "") << describe(options);
    ASSERT_EQ(report.replayed, 0) << describe(options);
    const traced_run run{.stages = options.stages,
                         .replicas = options.replicas,
                         .num_pipe_buffers = options.pipe_buffers(),
                         .micro_batches = options.calls};
    const auto legal = check_trace(run, report.trace);
    ASSERT_TRUE(legal) << describe(options) << ": " << to_string(legal.error());
  }
}

TEST(simulation, failing_forwards_change_nothing_but_their_own_call) {
  for (std::uint64_t seed = 0; seed < seeds / 4; ++seed) {
    world_options options = random_world(seed);
    std::mt19937_64 random{seed};
    for (call_number call = 0; call < options.calls.size(); ++call) {
      if (random() % 3 == 0) options.fail_once.insert({call, random() % 25});
      if (random() % 8 == 0) options.fail_always.insert({call, random() % 25});
    }
    ASSERT_EQ(fault_in(options, simulate(options)), "") << describe(options);
  }
}

TEST(simulation, equal_seeds_give_equal_runs_and_others_differ) {
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world_options options = random_world(3);  // the same pipeline, other schedules
    options.calls = {20, 10};
    options.seed = seed;
    const world_report first = simulate(options);
    const world_report second = simulate(options);
    EXPECT_EQ(first.moves_digest, second.moves_digest) << describe(options);
    EXPECT_EQ(first.moves, second.moves) << describe(options);
    EXPECT_EQ(first.trace, second.trace) << describe(options);
    digests.insert(first.moves_digest);
  }
  EXPECT_GT(digests.size(), 45u);
}

TEST(simulation_mutant, without_credits_is_found) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world_options options = random_world(seed);
    options.enforce_credits = false;
    if (!fault_in(options, simulate(options)).empty()) ++found;
  }
  EXPECT_GT(found, 100u);
}

TEST(simulation, a_slow_replica_and_a_fast_loader_stay_within_the_window) {
  std::uint64_t kept_max = 0;
  for (std::uint64_t seed = 0; seed < (sanitized ? 10u : 20u); ++seed) {
    world_options options;
    options.seed = seed;
    options.stages = 2;
    options.replicas = 3;
    options.calls = {600};
    options.slowness_of_replica_0 = 200;
    options.micro_batch_bytes = limits::window_bytes / 40;
    const world_report report = simulate(options);
    ASSERT_EQ(fault_in(options, report), "") << describe(options);
    ASSERT_EQ(kept_limit(report, options.micro_batch_bytes), 41u) << "the division leaves a rest";
    kept_max = std::max(kept_max, report.kept_max);
  }
  EXPECT_EQ(kept_max, 41u) << "no seed filled the window";
}

}  // namespace
}  // namespace troupe::testing
