// Goal: whatever a worker says that cannot be true costs that worker and nothing else: the driver names the field, goes
// on with another worker, and the metrics are those of an undisturbed run to the last bit. Method: lying_program, whose
// workers' messages are forged on their way out.
#include <map>

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

std::string name_of_lie(const ::testing::TestParamInfo<const char*>& one) {
  std::string name = one.param;
  for (char& each : name) each = each == '.' ? '_' : each;
  return name;
}

/// Of the program in one process, which is run once per list of arguments.
json undisturbed_result(const std::vector<std::string>& arguments) {
  static std::map<std::vector<std::string>, json> known;
  const auto found = known.find(arguments);
  if (found != known.end()) return found->second;
  marked_run truth(arguments, LYING_PROGRAM);
  return known[arguments] = results_of(truth.run()).front();
}

/// A lie is told in the same way whatever it says, and the answer to each is tested without processes. Under a
/// sanitizer one of three is told here.
std::vector<const char*> told(const std::vector<const char*>& lies) {
  std::vector<const char*> some;
  for (std::size_t i = 0; i < lies.size(); i += sanitized ? 3 : 1) some.push_back(lies[i]);
  return some;
}

class lie : public ::testing::TestWithParam<const char*> {};

TEST_P(lie, once_costs_its_worker_and_changes_nothing) {
  const json undisturbed = undisturbed_result({"processes=none"});

  marked_run run({std::string("lie=") + GetParam(), "once=told"}, LYING_PROGRAM);
  const auto outcome = run.run();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = results_of(outcome).front();
  EXPECT_EQ(words_of(result["metrics"]), words_of(undisturbed["metrics"]));
  EXPECT_EQ(result["delivery"]["folded"], 100);
  EXPECT_EQ(result["delivery"]["lost"], 0);
  EXPECT_THAT(outcome.err, HasSubstr(std::string("it said what cannot be: ") + GetParam()));
  run.expect_nothing_left({"told"});
}

INSTANTIATE_TEST_SUITE_P(of, lie,
                         ::testing::ValuesIn(told({"score.sink", "score.id.call", "score.id.index", "score.samples",
                                                   "score.words", "score.sender_incarnation", "stage_ready.address",
                                                   "stage_ready.incarnation", "call_opened.call"})),
                         name_of_lie);

/// Of a call of eval_batch, whose scores hold losses and logits.
class lie_about_a_batch : public ::testing::TestWithParam<const char*> {};

TEST_P(lie_about_a_batch, costs_its_worker_and_changes_nothing) {
  const json undisturbed = undisturbed_result({"processes=none", "call=eval_batch"});
  ASSERT_EQ(undisturbed["bits"].size(), 201u);

  const std::string lie = std::string("lie=") + GetParam();
  marked_run once({lie, "once=told", "call=eval_batch"}, LYING_PROGRAM);
  const auto outcome = once.run();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(results_of(outcome).front(), undisturbed);
  once.expect_nothing_left({"told"});

  marked_run always({lie, "call=eval_batch"}, LYING_PROGRAM);
  const auto ended = always.run();
  EXPECT_EQ(ended.status, 4) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("error E0616: stage 1 (process "));
  EXPECT_THAT(ended.err, HasSubstr("it said what cannot be: score.words"));
  always.expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(of, lie_about_a_batch,
                         ::testing::ValuesIn(told({"score.words", "score.words.none", "score.words.parts",
                                                   "score.words.outputs"})),
                         name_of_lie);

class lie_to_a_worker : public ::testing::TestWithParam<const char*> {};

TEST_P(lie_to_a_worker, costs_the_worker_that_told_it) {
  const json undisturbed = undisturbed_result({"processes=none"});

  marked_run run({std::string("lie=") + GetParam(), "once=told"}, LYING_PROGRAM);
  const auto outcome = run.run();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = results_of(outcome).front();
  EXPECT_EQ(words_of(result["metrics"]), words_of(undisturbed["metrics"]));
  EXPECT_EQ(result["delivery"]["folded"], 100);
  EXPECT_EQ(result["delivery"]["lost"], 0);
  EXPECT_THAT(outcome.err, ContainsRegex("warning: \\[pass, rank [0-9]+\\] pass \\(process [0-9]+\\) was replaced"))
      << outcome.err;
  EXPECT_THAT(outcome.err, Not(ContainsRegex("guess \\(process [0-9]+\\) was replaced"))) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("guess was sent what cannot be")) << outcome.err;
  run.expect_nothing_left({"told"});
}

INSTANTIATE_TEST_SUITE_P(of, lie_to_a_worker,
                         ::testing::ValuesIn(told({"edge.id.index", "edge.id.call", "edge.samples"})), name_of_lie);

TEST(a_worker_that_loses_a_micro_batch, costs_time_and_no_process) {
  const json undisturbed = undisturbed_result({"processes=none"});

  marked_run run({"lie=edge.id.again", "once=told"}, LYING_PROGRAM);
  const auto outcome = run.run();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = results_of(outcome).front();
  EXPECT_EQ(words_of(result["metrics"]), words_of(undisturbed["metrics"]));
  EXPECT_EQ(result["delivery"]["lost"], 0);
  EXPECT_GT(result["delivery"]["replayed"], 0);
  EXPECT_THAT(outcome.err, HasSubstr("call 0, micro-batch 40 was lost, and new edges are made")) << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("was replaced"))) << outcome.err;
  run.expect_nothing_left({"told"});
}

TEST(a_worker_that_loses_a_micro_batch_every_time, ends_the_run_and_is_named) {
  if (sanitized) GTEST_SKIP() << same_code;
  marked_run run({"lie=edge.id.again"}, LYING_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err,
              HasSubstr("error E0610: call 0, micro-batch 40: no stage works, and its result does not come"))
      << outcome.err;
  run.expect_nothing_left();
}

TEST(a_worker_that_lies_every_time, ends_the_run_and_is_named) {
  marked_run run({"lie=score.sink"}, LYING_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("error E0616: guess (process "));
  EXPECT_THAT(outcome.err,
              HasSubstr("it said what cannot be: score.sink is 77, which is none of its own, and was killed"));
  run.expect_nothing_left();
}

TEST(a_worker_that_lies_about_itself, becomes_no_stage) {
  for (const std::string field : {"worker_hello.pid", "worker_hello.edge_contact"}) {
    marked_run run({"lie=" + field}, LYING_PROGRAM);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("it said what cannot be: " + field + " is "));
    run.expect_nothing_left();
  }
}

}  // namespace
}  // namespace troupe::testing
