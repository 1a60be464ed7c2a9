// Goal: whenever the driver is killed its workers are gone, and with a journal the run goes on to the bits of an
// undisturbed one. Method: SIGKILL to the built program while it starts, runs and recovers.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/killer.hpp"
#include "tests/processes/lenet.hpp"
#include "tests/processes/undisturbed.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr int killed = 128 + SIGKILL;

std::vector<std::string> in_processes(const std::vector<std::string>& more) {
  return with(with(lenet(2, 4000), {"--processes", "--stages", "2", "--journal", killer::journal}), more);
}

TEST(a_killed_driver, leaves_no_worker_and_goes_on_from_its_journal) {
  const undisturbed& whole = undisturbed::of(lenet(2, 4000));
  marked_run run(in_processes({}));
  for (const double share : {0.2, 0.4, 0.7}) {
    run.on_tick = [&]() -> std::vector<int> {
      const bool due =
          static_cast<double>(run.size_of(killer::journal)) >= share * static_cast<double>(whole.journal_bytes);
      return due && !run.workers().empty() ? std::vector<int>{SIGKILL} : std::vector<int>{};
    };
    const auto outcome =
        run.run(in_processes(share > 0.2 ? std::vector<std::string>{"--resume"} : std::vector<std::string>{}));
    ASSERT_EQ(outcome.status, killed) << outcome.err;
    run.expect_nothing_left({killer::journal}, 2s);
  }
  run.on_tick = {};
  const auto outcome = run.run(in_processes({"--resume"}));
  SCOPED_TRACE(outcome.err);
  whole.expect_same(outcome);
  EXPECT_GT(nlohmann::json::parse(outcome.out)["delivery"]["resumed"], 0.6 * static_cast<double>(whole.micro_batches));
  run.expect_nothing_left({killer::journal});
}

/// From the first child on, whose program may not run yet.
TEST(a_killed_driver, leaves_nothing_while_it_starts) {
  for (int step = 0; step < (sanitized ? 3 : 5); ++step) {
    marked_run run(with(lenet(2, 4000), {"--processes", "--stages", "3"}));
    std::optional<clock::time_point> first_seen;
    run.on_tick = [&]() -> std::vector<int> {
      if (!first_seen && !run.children().empty()) first_seen = clock::now();
      return first_seen && clock::now() >= *first_seen + step * 100ms ? std::vector<int>{SIGKILL} : std::vector<int>{};
    };
    const auto outcome = run.run();
    SCOPED_TRACE("step " + std::to_string(step));
    EXPECT_EQ(outcome.status, killed) << outcome.err;
    run.expect_nothing_left({}, 2s);
  }
}

TEST(a_killed_driver, leaves_nothing_in_the_middle_of_a_recovery) {
  for (int step = 0; step < (sanitized ? 2 : 3); ++step) {
    marked_run run(with(lenet(1, 10000), {"--processes", "--stages", "2"}));
    std::optional<clock::time_point> worker_killed;
    run.on_tick = [&]() -> std::vector<int> {
      const auto workers = run.workers();
      if (!worker_killed && workers.size() > 2) {
        ::kill(workers.front(), SIGKILL);
        worker_killed = clock::now();
      }
      const bool due = worker_killed && clock::now() >= *worker_killed + step * 40ms;
      return due ? std::vector<int>{SIGKILL} : std::vector<int>{};
    };
    const auto outcome = run.run();
    SCOPED_TRACE("step " + std::to_string(step));
    EXPECT_EQ(outcome.status, killed) << outcome.err;
    run.expect_nothing_left({}, 2s);
  }
}

}  // namespace
}  // namespace troupe::testing
