// Goal: a stage that ends its process costs a restart, and one that does so every time ends the run with an error that
// says all there is to know. Method: faulty_program, whose first stage does harm at sample 101 (micro-batch 25).
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/marked_run.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using json = nlohmann::json;

constexpr std::uint64_t micro_batches = 100;

const std::vector<std::uint64_t>& undisturbed_metrics() {
  static const std::vector<std::uint64_t> words = [] {
    marked_run run({"processes=none"}, FAULTY_PROGRAM);
    return words_of(results_of(run.run()).front()["metrics"]);
  }();
  return words;
}

void expect_whole(const program_outcome& outcome) {
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = results_of(outcome).front();
  EXPECT_EQ(words_of(result["metrics"]), undisturbed_metrics());
  EXPECT_EQ(result["delivery"]["folded"], micro_batches);
  EXPECT_EQ(result["delivery"]["lost"], 0);
}

struct deadly_fault {
  const char* fault;
  const char* how;
};
class deadly : public ::testing::TestWithParam<deadly_fault> {};

TEST_P(deadly, every_time_ends_the_run_and_is_named) {
  marked_run run({std::string("fault=") + GetParam().fault}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string error = outcome.err.substr(std::min(outcome.err.size(), outcome.err.find("error E0616: ")));
  EXPECT_TRUE(std::regex_search(error, std::regex(R"(^error E0616: fragile \(process [0-9]+\), )"))) << outcome.err;
  EXPECT_THAT(error, HasSubstr("micro-batch 25"));
  EXPECT_THAT(error, HasSubstr("it died 3 times without a micro-batch being finished"));
  EXPECT_THAT(error, HasSubstr(GetParam().how));
  EXPECT_THAT(error, HasSubstr("it worked on this micro-batch every time"));
  EXPECT_THAT(error, HasSubstr(std::string("\n  last words before ") + GetParam().fault));
  run.expect_nothing_left();
}

TEST_P(deadly, once_changes_nothing) {
  for (const char* where : {"processes=all", "processes=first"}) {
    marked_run run({std::string("fault=") + GetParam().fault, "once=met", where}, FAULTY_PROGRAM);
    const auto outcome = run.run();
    expect_whole(outcome);
    EXPECT_THAT(outcome.err, HasSubstr(GetParam().how));
    EXPECT_THAT(outcome.err,
                ContainsRegex(std::string("\\[fragile, rank [0-9]+\\] last words before ") + GetParam().fault));
    run.expect_nothing_left({"met"});
  }
}

TEST_P(deadly, once_is_told_on_stderr_by_a_program_without_hooks) {
  marked_run run({std::string("fault=") + GetParam().fault, "once=met", "hooks=none"}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  expect_whole(outcome);
  // On a slow machine a warning that it seems stalled stands before it.
  const std::regex told(
      std::string(
          R"((^|\n)warning: \[fragile, rank [0-9]+\] fragile \(process [0-9]+\) was replaced after [0-9.]+ s, )") +
      "[0-9]+ micro-batch(es)? sent again: " + GetParam().how);
  EXPECT_TRUE(std::regex_search(outcome.err, told)) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(std::string("\n  last words before ") + GetParam().fault));
  EXPECT_THAT(outcome.err, Not(HasSubstr("fix:")));
  run.expect_nothing_left({"met"});
}

const std::vector<deadly_fault> deadly_faults{
    {"kill", "killed by SIGKILL"}, {"abort", "killed by SIGABRT"}, {"exit", "exited with status 3"}};
INSTANTIATE_TEST_SUITE_P(ways, deadly, ::testing::ValuesIn(fewer_if_sanitized(deadly_faults, {2})),
                         [](const auto& one) { return std::string(one.param.fault); });

TEST(a_stage_that_throws, fails_the_run_as_in_one_process) {
  std::vector<std::string> errors;
  for (const char* where : {"processes=none", "processes=all"}) {
    marked_run run({"fault=throw", where}, FAULTY_PROGRAM);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    const auto error = outcome.err.find("error E0602: ");
    ASSERT_NE(error, std::string::npos) << outcome.err;
    errors.push_back(outcome.err.substr(error));
    EXPECT_THAT(errors.back(), HasSubstr("thrown on purpose"));
    run.expect_nothing_left();
  }
  EXPECT_EQ(errors.front(), errors.back());
}

TEST(a_stage_that_returns_what_cannot_travel, fails_the_run_and_is_told_so) {
  for (const char* transport : {"transport=shm", "transport=tcp"}) {
    marked_run run({"fault=sparse", transport}, FAULTY_PROGRAM);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error E0602: fragile, call 0, micro-batch 25, samples 100 to 103: "));
    EXPECT_THAT(outcome.err,
                HasSubstr("its outputs cannot be sent: they cannot leave their process: a tensor is sparse\n"));
    EXPECT_THAT(outcome.err, HasSubstr("return dense tensors of the CPU"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("SIGABRT")));
    run.expect_nothing_left();
  }
}

TEST(a_stage_that_hangs, is_killed_and_named_in_the_end) {
  marked_run run({"fault=hang", "forward_deadline=1"}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  const std::string error = outcome.err.substr(std::min(outcome.err.size(), outcome.err.find("error E0616: ")));
  EXPECT_THAT(error, HasSubstr("fragile (process "));
  EXPECT_THAT(error, HasSubstr("micro-batch 25"));
  EXPECT_THAT(error, HasSubstr("took longer than 1 s, and was killed"));
  EXPECT_THAT(error, HasSubstr("it worked on this micro-batch every time"));
  EXPECT_LT(run.seconds(), sanitized ? 60 : 15);
  run.expect_nothing_left();
}

TEST(a_stage_that_hangs, once_is_killed_and_replaced) {
  marked_run run({"fault=hang", "forward_deadline=1", "once=met"}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  expect_whole(outcome);
  EXPECT_THAT(outcome.err, HasSubstr("took longer than 1 s, and was killed"));
  run.expect_nothing_left({"met"});
}

TEST(a_worker_that_does_not_become_its_stage, is_killed_and_named_in_the_end) {
  if (sanitized) GTEST_SKIP() << same_code;
  const int limit = sanitized ? 15 : 4;
  marked_run run({"fault=unready", "processes=first", "start_deadline=" + std::to_string(limit)}, FAULTY_PROGRAM);
  run.deadline = std::chrono::seconds{240};
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  const std::string error = outcome.err.substr(std::min(outcome.err.size(), outcome.err.find("error E0616: ")));
  EXPECT_THAT(error, HasSubstr("fragile (process "));
  EXPECT_THAT(error, HasSubstr("it did not become its stage within " + std::to_string(limit) + " s"));
  EXPECT_THAT(error, HasSubstr("last words before unready"));
  EXPECT_LT(run.seconds(), sanitized ? 150 : 40);
  run.expect_nothing_left();
}

TEST(a_worker_that_does_not_become_its_stage, once_is_killed_and_replaced) {
  const int limit = sanitized ? 15 : 4;
  marked_run run({"fault=unready", "processes=first", "once=met", "start_deadline=" + std::to_string(limit)},
                 FAULTY_PROGRAM);
  const auto outcome = run.run();
  expect_whole(outcome);
  EXPECT_THAT(outcome.err, HasSubstr("it did not become its stage within " + std::to_string(limit) + " s"));
  run.expect_nothing_left({"met"});
}

TEST(a_stage_that_is_slow, is_said_to_be_and_waited_for) {
  marked_run run({"fault=slow", "once=met"}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  expect_whole(outcome);
  EXPECT_THAT(outcome.err, HasSubstr("fragile seems stalled: its forward of "));
  EXPECT_THAT(outcome.err, Not(HasSubstr("killed")));
  run.expect_nothing_left({"met"});
}

}  // namespace
}  // namespace troupe::testing
