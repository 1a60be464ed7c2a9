// Goal: the workers of a run are copies of one process, and its death changes nothing but how the next are started.
// Method: faulty_program; names and environments of its children, as the system has them.
#include <csignal>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/marked_run.hpp"
#include "tests/processes/process_list.hpp"

namespace troupe::testing {
namespace {

constexpr std::size_t spare = 1;
/// The run lasts until the faults are done.
constexpr const char* pace = "pace=20000";

std::optional<pid_t> nursery_of(marked_run& run) {
  for (const pid_t child : run.children()) {
    if (name_of(child) == "nursery") return child;
  }
  return std::nullopt;
}

TEST(workers_of_a_run, are_copies_of_its_nursery) {
  marked_run run({pace}, FAULTY_PROGRAM);
  std::set<pid_t> copied;
  run.on_tick = [&]() -> std::vector<int> {
    if (!run.greeted_while_held_back(2 + spare) || !nursery_of(run)) return {};
    for (const pid_t worker : run.workers()) {
      if (is_copied_worker(worker)) copied.insert(worker);
    }
    return {};
  };
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(copied.size(), 2 + spare);
  run.expect_nothing_left();
}

TEST(a_nursery, that_dies_leaves_its_copies_and_the_next_workers_are_executed) {
  marked_run whole({}, FAULTY_PROGRAM);
  const auto undisturbed = results_of(whole.run()).front();

  marked_run run({pace}, FAULTY_PROGRAM);
  bool is_dead = false;
  std::optional<pid_t> victim;
  std::set<pid_t> executed;
  run.on_tick = [&]() -> std::vector<int> {
    if (!is_dead) {
      const auto nursery = run.greeted_while_held_back(2 + spare) ? nursery_of(run) : std::nullopt;
      is_dead = nursery && ::kill(*nursery, SIGKILL) == 0;
    } else if (!victim) {
      victim = run.workers().front();
      ::kill(*victim, SIGKILL);
    }
    for (const pid_t worker : run.workers()) {
      if (!is_copied_worker(worker)) executed.insert(worker);
    }
    return {};
  };
  const auto outcome = run.run();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(victim);
  EXPECT_THAT(executed, ::testing::Not(::testing::IsEmpty())) << "the spare after the one that took the place";
  EXPECT_EQ(words_of(results_of(outcome).front()["metrics"]), words_of(undisturbed["metrics"]));
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("killed by SIGKILL")) << outcome.err;
  run.expect_nothing_left();
}

}  // namespace
}  // namespace troupe::testing
