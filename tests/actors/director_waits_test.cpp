// Goal: how long the director waits for the acknowledgement of a call, and what it tells of deaths and failures.
// Method: the production actors in one thread and virtual time; the test speaks for the stages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "support/directed_run.hpp"

namespace troupe::testing {
namespace {

TEST(director, waits_for_an_acknowledgement_until_the_silent_worker_is_replaced) {
  using std::chrono::seconds;
  constexpr seconds silence{45};
  directed_run run(silence + limits::control_request_margin);
  run.provider->deaf = true;
  run.replace_stage();
  run.submit(3);
  run.pass_in_steps(silence + limits::heartbeat_max);
  EXPECT_TRUE(run.is_open()) << to_string(*run.outcome.get().cause);
  run.provider->deaf = false;
  run.replace_stage("it was silent for 45000 ms, and was killed");
  run.pass_in_steps(seconds{120});
  EXPECT_TRUE(run.is_open()) << "its successor has opened it";
  EXPECT_GT(run.source->position, 0u) << "and it is loaded";
}

TEST(director, gives_up_a_stage_that_lives_and_acknowledges_nothing) {
  directed_run run;
  run.provider->deaf = true;
  run.replace_stage();
  run.submit(3);
  run.pass_in_steps(limits::control_request_timeout - std::chrono::seconds{1});
  EXPECT_TRUE(run.is_open());
  run.pass_in_steps(std::chrono::seconds{2});
  ASSERT_FALSE(run.is_open());
  EXPECT_EQ(run.outcome.get().cause->code, error_code::stage_unresponsive);
}

TEST(director, ends_a_worker_that_lives_and_acknowledges_nothing_and_goes_on_with_the_next) {
  directed_run run;
  run.provider->has_processes = true;
  run.provider->deaf = true;
  run.replace_stage();
  run.submit(3);
  run.pass_in_steps(limits::control_request_timeout + std::chrono::seconds{1});
  EXPECT_TRUE(run.is_open()) << "the order may have been lost, not the worker";
  ASSERT_EQ(run.provider->ended_for.size(), 1u);
  EXPECT_THAT(run.provider->ended_for.front(), ::testing::HasSubstr("did not open it"));
  run.provider->deaf = false;
  run.replace_stage("it was killed");
  run.pass_in_steps(limits::control_request_timeout * 2);
  EXPECT_TRUE(run.is_open());
  EXPECT_GT(run.source->position, 0u) << "its successor has opened it";
}

TEST(director, asks_again_when_it_was_frozen_itself) {
  directed_run run;
  run.provider->deaf = true;
  run.replace_stage();
  run.submit(3);
  run.pass_time(std::chrono::hours{1});
  EXPECT_TRUE(run.is_open()) << "the answer may wait to be read";
  EXPECT_EQ(*run.provider->times_asked, 2);
}

TEST(director, tells_of_a_death_that_is_survived_as_a_warning_with_its_time) {
  directed_run run;
  run.submit(3);
  static_cast<void>(run.log_with(""));
  run.replace_stage("killed by SIGKILL");
  const auto lines = run.log_with("");
  ASSERT_EQ(lines.size(), 2u);
  const std::string at = "[" + run.engines->accounts->at(run.stage).name + ", rank 3] ";
  EXPECT_EQ(lines[0], at + "stage 0 (process 7) was lost and is being replaced");
  const std::string sent_again = std::to_string(run.engines->loader->sent().count_from({0, 0}));
  EXPECT_THAT(lines[1], ::testing::StartsWith("warning: " + at + "stage 0 (process 7) was replaced after "));
  EXPECT_THAT(lines[1], ::testing::EndsWith(" s, " + sent_again + " micro-batches sent again: killed by SIGKILL"));
}

TEST(director, tells_of_a_death_that_the_last_call_did_not_wait_for) {
  directed_run run;
  run.submit(3);
  static_cast<void>(run.log_with(""));
  post(run.directs,
       stage_lost{run.stage, run.incarnation, {error_code::stage_lost, "it", "killed", {}}, {}, 3, "stage 0"});
  run.settle();
  for (std::uint64_t index = 0; index < 3; ++index) run.score_of({0, index});
  run.settle();
  ASSERT_FALSE(run.is_open());
  const std::string at = "[" + run.engines->accounts->at(run.stage).name + ", rank 3] ";
  EXPECT_THAT(
      run.log_with("warning: "),
      ::testing::ElementsAre("warning: " + at + "stage 0 was lost, and not replaced before the call ended: killed"));
  run.replace_stage();
  EXPECT_TRUE(run.log_with("warning: ").empty()) << "told twice";
}

TEST(director, does_not_log_the_error_that_the_call_is_answered_with) {
  directed_run run;
  run.submit(3);
  const failure same{run.stage, 0, "stage 0", std::nullopt, {error_code::process_failed, "worker 2", "no", {}}, 0};
  for (int stages = 0; stages < 3; ++stages) post(run.directs, same);
  run.settle();
  EXPECT_EQ(run.outcome.get().cause->code, error_code::process_failed);
  EXPECT_TRUE(run.log_with("E0614").empty());
  failure other = same;
  other.cause.cause = "something else";
  post(run.directs, other);
  run.settle();
  EXPECT_EQ(run.log_with("E0614").size(), 1u) << "this one is not in any answer";
}

/// A training may go on from a copy, and would have an error in its log whose fix it follows already.
TEST(director, does_not_log_the_loss_of_a_state_that_the_next_call_is_answered_with) {
  directed_run run;
  const error lost{error_code::training_state_lost, "stage 0", "its weights were on node w1, which is lost", "protect"};
  post(run.directs, failure{run.stage, 0, "stage 0", std::nullopt, lost, 0});
  run.settle();
  EXPECT_TRUE(run.log_with("E0620").empty());
  run.submit(3);
  ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  EXPECT_EQ(run.outcome.get().cause->code, error_code::training_state_lost);
}

}  // namespace
}  // namespace troupe::testing
