// Goal: what a stage in a worker starts has none of the run's descriptors: no secret, no shared memory, no connection
// that would outlive the worker. Method: faulty_program, whose stage starts programs.
#include <csignal>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/marked_run.hpp"
#include "tests/processes/process_list.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class started_by_a_stage : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string transport() { return std::string("transport=") + GetParam(); }
};

/// "[fragile] lr-x------ 1 user group 64 Jan  1 00:00 3 -> /proc/42/fd".
TEST_P(started_by_a_stage, a_program_has_the_standard_descriptors_alone) {
  marked_run run({"fault=list", "once=met", transport()}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::vector<std::string> numbers;
  const std::regex line(R"(\] [-lrwx]+.* ([0-9]+) -> (.*))");
  for (std::sregex_iterator at(outcome.err.begin(), outcome.err.end(), line), end; at != end; ++at) {
    numbers.push_back((*at)[1]);
    if (numbers.back() != "3") continue;
    EXPECT_THAT((*at)[2].str(), HasSubstr("/proc/")) << "what ls itself has opened";
  }
  EXPECT_THAT(numbers, ElementsAre("0", "1", "2", "3")) << outcome.err;
  run.expect_nothing_left({"met"});
}

/// Its connections would be open as long as it lives, and peers would take the worker for silent.
TEST_P(started_by_a_stage, a_program_that_outlives_it_holds_no_connection) {
  marked_run run({"fault=orphan", "once=met", transport()}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("killed by SIGKILL"));
  const auto orphans = processes_with(run.mark());
  ASSERT_EQ(orphans.size(), 1u);
  const auto open = descriptors_of(orphans.front());
  ::kill(orphans.front(), SIGKILL);
  EXPECT_THAT(open, ElementsAre("/dev/null", "/dev/null", "/dev/null"));
  run.expect_nothing_left({"left", "met"});
}

INSTANTIATE_TEST_SUITE_P(transports, started_by_a_stage, ::testing::Values("shm", "tcp"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace troupe::testing
