// Goal: starts are given up when the next one would fail, too, and not because workers were killed. Method: rows of
// reports.
#include "runtime/process/start_budget.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

exit_report ended(exit_kind kind, int value) {
  exit_report report;
  report.kind = kind;
  report.value = value;
  return report;
}

const exit_report by_itself = ended(exit_kind::exited, 3);
const exit_report crashed = ended(exit_kind::signalled, SIGSEGV);
const exit_report shot = ended(exit_kind::signalled, SIGKILL);

TEST(start_budget, is_spent_when_workers_end_by_themselves) {
  start_budget budget;
  EXPECT_FALSE(budget.failed("worker 0", by_itself, "", 4));
  EXPECT_FALSE(budget.failed("worker 1", crashed, "", 4));
  const auto spent = budget.failed("worker 2", by_itself, "", 4);
  ASSERT_TRUE(spent);
  EXPECT_EQ(spent->code, error_code::process_failed);
  EXPECT_EQ(spent->where, "worker 0") << "the first cause";
  EXPECT_EQ(spent->cause, "3 times in a row a worker ended before it said hello: exited with status 3");
  EXPECT_THAT(spent->fix, HasSubstr("call troupe::program"));
}

/// As where its own words are known: a limit of the node, for example.
TEST(start_budget, tells_the_cause_and_the_fix_that_a_worker_told) {
  exit_report ended;
  ended.kind = exit_kind::exited;
  ended.value = 1;
  ended.told = error{error_code::process_failed, "threads", "8 are needed", "Raise ulimit -u"};
  exit_report lost;
  lost.kind = exit_kind::lost;
  lost.note = "it could not be started";
  lost.told = ended.told;
  for (const auto& [report, how] :
       {std::pair(ended, "exited with status 1"), std::pair(lost, "it could not be started")}) {
    start_budget budget;
    budget.begin();
    std::optional<error> spent;
    for (std::uint32_t i = 0; i < limits::worker_failed_starts_max; ++i) {
      EXPECT_FALSE(spent);
      spent = budget.failed("worker 0", report, "", 1);
    }
    ASSERT_TRUE(spent);
    EXPECT_EQ(spent->cause, std::string("3 times in a row a worker ended before it said hello: ") + how +
                                ": E0614: threads: 8 are needed");
    EXPECT_EQ(spent->fix, "Raise ulimit -u");
  }
}

TEST(start_budget, takes_a_worker_that_its_owner_killed_for_a_failure_of_its_own) {
  start_budget budget;
  EXPECT_FALSE(budget.failed("worker 0", shot, "it said no hello for 60 s", 1));
  EXPECT_FALSE(budget.failed("worker 1", shot, "it said no hello for 60 s", 1));
  const auto spent = budget.failed("worker 2", shot, "it said no hello for 60 s", 1);
  ASSERT_TRUE(spent);
  EXPECT_THAT(spent->cause, HasSubstr("it said no hello for 60 s, and was killed"));
}

TEST(start_budget, is_not_spent_by_workers_that_were_killed_once_each) {
  start_budget budget;
  for (const int number : {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    EXPECT_FALSE(budget.failed("worker", ended(exit_kind::signalled, number), "", 3));
  }
  EXPECT_FALSE(budget.failed("worker", by_itself, "", 3));
  EXPECT_FALSE(budget.failed("worker", by_itself, "", 3));
  EXPECT_FALSE(budget.failed("worker", shot, "", 3));
  EXPECT_TRUE(budget.failed("worker", by_itself, "", 3)) << "a kill in between says nothing about the program";
}

TEST(start_budget, is_spent_by_a_killer_that_does_not_stop) {
  start_budget budget;
  constexpr std::size_t waited_for = 2;
  for (std::uint32_t kill = 1; kill < waited_for * limits::worker_starts_killed_max; ++kill) {
    ASSERT_FALSE(budget.failed("worker", shot, "", waited_for)) << kill;
  }
  const auto spent = budget.failed("worker", shot, "", waited_for);
  ASSERT_TRUE(spent);
  EXPECT_THAT(spent->cause, HasSubstr("20 times in a row a worker ended before it said hello: killed by SIGKILL"));
  EXPECT_THAT(spent->fix, HasSubstr("the kernel's log names processes that took too much memory"));
}

TEST(start_budget, begins_anew_with_a_hello) {
  start_budget budget;
  for (int times = 0; times < 10; ++times) {
    EXPECT_FALSE(budget.failed("worker", by_itself, "", 1));
    EXPECT_FALSE(budget.failed("worker", crashed, "", 1));
    budget.hello();
  }
}

TEST(start_budget, stops_replacing_spares_that_die_again_and_again) {
  start_budget budget;
  auto now = 1000s;
  for (std::uint32_t lost = 0; lost < limits::spares_lost_in_window_max; ++lost) {
    EXPECT_TRUE(budget.may_start_spare(now));
    budget.spare_lost(now += 1s);
  }
  EXPECT_FALSE(budget.may_start_spare(now));
  EXPECT_TRUE(budget.may_start_spare(now + limits::death_window)) << "those were long ago";
}

TEST(start_budget, starts_no_spare_of_a_program_that_is_no_worker) {
  start_budget budget;
  for (std::uint32_t failed = 0; failed < limits::worker_failed_starts_max; ++failed) {
    EXPECT_TRUE(budget.may_start_spare(1s));
    static_cast<void>(budget.failed("worker", by_itself, "", 0));
  }
  EXPECT_FALSE(budget.may_start_spare(1s));
  budget.begin();
  EXPECT_TRUE(budget.may_start_spare(1s)) << "now it is waited for";
}

}  // namespace
}  // namespace troupe::testing
