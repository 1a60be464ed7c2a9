// Goal: a run whose workers are killed at random moments gives the bits of an undisturbed one, in time, and leaves
// nothing behind. Method: the built program; SIGKILL to random workers at shares of the journal's growth; metrics are
// compared as the words of their doubles.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/killer.hpp"
#include "tests/processes/lenet.hpp"
#include "tests/processes/undisturbed.hpp"
#include "tests/support/case_choice.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using json = nlohmann::json;

struct kill_case {
  bool resnet;
  std::uint32_t stages;
  std::uint32_t replicas;
  std::uint64_t micro_batch;
  std::uint64_t micro_batches;
  int kills;
  const char* transport = "auto";
};

std::vector<std::string> arguments_of(const kill_case& one) {
  const std::uint64_t limit = one.micro_batch * one.micro_batches;
  return one.resnet ? eval_of("cifar10/resnet20.pt", "cifar10:cifar10/test_batch_1000.bin", one.micro_batch, limit)
                    : lenet(one.micro_batch, limit);
}

std::vector<std::string> in_processes(const std::vector<std::string>& arguments, std::uint32_t stages,
                                      std::uint32_t replicas) {
  return with(arguments, {"--processes", "--stages", std::to_string(stages), "--replicas", std::to_string(replicas),
                          "--journal", killer::journal});
}

class killed_at_random : public ::testing::TestWithParam<int> {};

/// 100 kills without the smaller cases that follow; fewer where everything is slow.
constexpr int kills_each = sanitized ? 3 : 10;
/// One stage is so fast that a message has many scores, and the journal grows in few steps.
constexpr int kills_of_one_stage = sanitized ? 3 : 8;
/// Long enough for them: the journal grows by what a message of scores holds, and between two kills it has to.
constexpr std::uint64_t length = sanitized ? 1500 : 9000;
/// With replicas the run goes on while one is replaced, so these cases are longer.
const std::vector<kill_case> cases = {
    {false, 1, 1, 1, length, kills_of_one_stage}, {false, 2, 1, 3, length, kills_each},
    {false, 3, 1, 1, length, kills_each, "tcp"},  {false, 4, 1, 2, length, kills_each},
    {false, 1, 2, 2, 5000, kills_each},           {false, 2, 2, 1, 9000, kills_each},
    {false, 2, 2, 2, 5000, kills_each, "tcp"},    {false, 3, 2, 2, 5000, kills_each},
    {false, 4, 2, 1, 9000, kills_each},           {true, 2, 1, 1, 1000, kills_each},
};

TEST_P(killed_at_random, gives_the_bits_of_an_undisturbed_run) {
  const kill_case& one = cases.at(static_cast<std::size_t>(GetParam()));
  const auto seed = static_cast<std::uint64_t>(GetParam()) + 1;
  const undisturbed& whole = undisturbed::of(arguments_of(one));
  marked_run run(with(in_processes(arguments_of(one), one.stages, one.replicas), {"--transport", one.transport}));
  killer kills(run, seed, whole.journal_bytes, one.kills);
  run.on_tick = [&] {
    kills.tick();
    return std::vector<int>{};
  };
  const auto outcome = run.run();
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(kills.done()) + " kills, stderr:\n" +
               outcome.err);
  whole.expect_same(outcome);
  EXPECT_GE(kills.done(), one.kills - 1) << "the run was too short";
  run.expect_nothing_left({killer::journal});
  RecordProperty("kills", kills.done());
  RecordProperty("seconds", std::to_string(run.seconds()));
}

/// Under a sanitizer a chain over shared memory, and replicas over TCP.
INSTANTIATE_TEST_SUITE_P(cases, killed_at_random,
                         ::testing::ValuesIn(sanitized ? std::vector{6}
                                                       : some_of(std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 3)));

/// Moments that the journal does not show: while workers start, are greeted, load the model, are wired.
TEST(killed_while_starting, gives_the_bits_of_an_undisturbed_run) {
  const auto arguments = lenet(1, sanitized ? 1500 : 6000);  // longer than the last of these moments is late
  const undisturbed& whole = undisturbed::of(arguments);
  for (const int step : some_of(std::vector{0, 1, 2, 3, 4}, sanitized ? 1 : 2)) {
    marked_run run(in_processes(arguments, 2, 1));
    std::optional<std::chrono::steady_clock::time_point> first_seen;
    int kills = 0;
    run.on_tick = [&]() -> std::vector<int> {
      if (kills == 2) return {};
      const auto now = std::chrono::steady_clock::now();
      const auto workers = run.workers();
      if (workers.empty()) return {};
      if (!first_seen) first_seen = now;
      if (now < *first_seen + std::chrono::milliseconds{120 * step}) return {};
      kills += ::kill(workers[static_cast<std::size_t>(step) % workers.size()], SIGKILL) == 0 ? 1 : 0;
      first_seen = now;
      return {};
    };
    const auto outcome = run.run();
    SCOPED_TRACE("step " + std::to_string(step) + ", " + std::to_string(kills) + " kills, stderr:\n" + outcome.err);
    whole.expect_same(outcome);
    EXPECT_GE(kills, 1);
    run.expect_nothing_left({killer::journal});
  }
}

/// A worker is a copy, and may have said hello and even have its stage before this test sees it.
TEST(killed_while_starting, every_one_of_them_ends_the_run_with_its_cause) {
  marked_run run(with(lenet(4, 400), {"--processes"}));
  run.on_tick = [&]() -> std::vector<int> {
    for (const pid_t worker : run.workers()) ::kill(worker, SIGKILL);
    return {};
  };
  const auto outcome = run.run();
  EXPECT_THAT(outcome.status, AnyOf(1, 4)) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  if (outcome.status == 1) {
    EXPECT_THAT(outcome.err, HasSubstr("error E0614: "));
    EXPECT_THAT(outcome.err, HasSubstr("ended before it said hello: killed by SIGKILL"));
    EXPECT_THAT(outcome.err, HasSubstr("find out who killed it"));
  } else {
    EXPECT_THAT(outcome.err, HasSubstr("error E0616: stage 0"));
    EXPECT_THAT(outcome.err, HasSubstr("the first time: killed by SIGKILL"));
  }
  EXPECT_THAT(outcome.err,
              ContainsRegex("rank [0-9]+\\] .*process [0-9]+\\) (ended before it had a stage|ended before it "
                            "began on its stage|was lost): killed by SIGKILL"));
  EXPECT_LT(run.seconds(), sanitized ? 60 : 20);
  run.expect_nothing_left();
}

TEST(killed_at_the_very_end, changes_nothing) {
  const auto arguments = lenet(4, 1000);
  const undisturbed& whole = undisturbed::of(arguments);
  for (const std::size_t victim : fewer_if_sanitized<std::size_t>({0, 2}, {0})) {
    marked_run run(in_processes(arguments, 2, 1));
    bool killed = false;
    run.on_tick = [&]() -> std::vector<int> {
      if (killed || run.size_of(killer::journal) < whole.journal_bytes) return {};
      const auto workers = run.workers();
      killed = true;
      if (victim < workers.size()) ::kill(workers[victim], SIGKILL);
      return {};
    };
    const auto outcome = run.run();
    SCOPED_TRACE("victim " + std::to_string(victim) + ", stderr:\n" + outcome.err);
    whole.expect_same(outcome);
    run.expect_nothing_left({killer::journal});
  }
}

}  // namespace
}  // namespace troupe::testing
