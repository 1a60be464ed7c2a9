// Goal: a step of training is folded as any call, but ends with its commit, and may be sent again until then. Method: a
// fold that writes down ids.
#include <gmock/gmock.h>

#include "runtime/ledger/fold_ledger.hpp"
#include "tests/runtime/ledger/ledger_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

TEST(ledger_steps, an_empty_step_waits_for_the_calls_before_it) {
  fold_ledger ledger{{.sinks = 1, .window = 10}};
  ledger.begin(0, {std::make_shared<recording_fold>()});
  ledger.begin(1, {std::make_shared<recording_fold>()}, {}, call_end::when_committed);
  ledger.close({0, 1});
  ledger.close({1, 0});
  EXPECT_FALSE(ledger.is_folded(1)) << "call 0 lacks its score";
  EXPECT_EQ(ledger.folded_step(), std::nullopt);
  EXPECT_EQ(ledger.fold(score_of(0, 0)), fold_ledger::verdict::folded);
  EXPECT_EQ(ledger.folded_step(), 1U);
  ledger.commit(1);
  EXPECT_EQ(ledger.folded_step(), std::nullopt);
}

TEST(ledger_steps, a_step_is_folded_as_any_call_and_ends_with_its_commit) {
  fold_ledger ledger{{.sinks = 2, .window = 10}};
  const auto a = std::make_shared<recording_fold>();
  const auto b = std::make_shared<recording_fold>();
  const auto next = std::make_shared<recording_fold>();
  ledger.begin(0, {a, b}, {}, call_end::when_committed);
  ledger.begin(1, {next, std::make_shared<recording_fold>()});
  EXPECT_EQ(ledger.fold(score_of(0, 1)), fold_ledger::verdict::held);
  EXPECT_EQ(ledger.fold(score_of(0, 0)), fold_ledger::verdict::folded);
  EXPECT_EQ(ledger.fold(score_of(0, 0, 1)), fold_ledger::verdict::folded);
  EXPECT_EQ(ledger.fold(score_of(0, 1)), fold_ledger::verdict::duplicate);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{0, 0}));
  ledger.close({0, 2});
  EXPECT_FALSE(ledger.is_folded(0)) << "one sink lacks a score";
  EXPECT_EQ(ledger.fold(score_of(0, 1, 1)), fold_ledger::verdict::folded);
  EXPECT_TRUE(ledger.is_folded(0));
  // The step may be done again from its start, and what comes of a later call waits.
  EXPECT_EQ(ledger.fold(score_of(0, 0)), fold_ledger::verdict::duplicate);
  EXPECT_EQ(ledger.fold(score_of(1, 0)), fold_ledger::verdict::held);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{0, 0}));
  EXPECT_FALSE(ledger.take_ended());
  EXPECT_EQ(ledger.tally(0)->folded, 2U);

  ledger.commit(0);
  EXPECT_THAT(a->seen, ElementsAre(0, 1));
  EXPECT_THAT(next->seen, ElementsAre(0));
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{1, 0})) << "of the least sink";
  const auto ended = ledger.take_ended();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->folded, 2U);
  EXPECT_EQ(ended->samples, 20U);
  EXPECT_FALSE(ledger.is_folded(0)) << "it has ended";
  ledger.commit(0);
  EXPECT_FALSE(ledger.take_ended());
}

TEST(ledger_steps, a_cancelled_step_ends_without_a_commit) {
  fold_ledger ledger{{.sinks = 1, .window = 10}};
  const auto failing = std::make_shared<recording_fold>();
  failing->fails_at = 0;
  ledger.begin(0, {std::make_shared<recording_fold>()}, {}, call_end::when_committed);
  ledger.begin(1, {failing}, {}, call_end::when_committed);
  ledger.begin(2, {std::make_shared<recording_fold>()}, {}, call_end::when_committed);
  ledger.fold(score_of(0, 0));
  ledger.close({0, 1});
  ledger.cancel(0);
  EXPECT_FALSE(ledger.is_folded(0));
  EXPECT_TRUE(ledger.take_ended()->cancelled);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{1, 0}));
  ledger.commit(0);

  ledger.fold(score_of(1, 0));
  EXPECT_TRUE(ledger.take_ended()->cause) << "a fold that fails cancels a step as well";
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{2, 0}));
  ledger.fold(score_of(2, 0));
  const auto given_up = ledger.abandon(2);
  ASSERT_TRUE(given_up);
  EXPECT_TRUE(given_up->cancelled);
  EXPECT_EQ(given_up->folded, 1U);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{3, 0}));
}

TEST(ledger_steps, a_step_that_an_earlier_run_began_is_done_from_its_first_micro_batch) {
  fold_ledger ledger{{.sinks = 1, .window = 10}};
  const auto fold = std::make_shared<recording_fold>();
  ledger.begin(0, {fold}, {.folded = {2}, .samples = 20}, call_end::when_committed);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{0, 0}));
  EXPECT_EQ(ledger.fold(score_of(0, 1)), fold_ledger::verdict::duplicate);
  EXPECT_EQ(ledger.fold(score_of(0, 2)), fold_ledger::verdict::folded);
  ledger.close({0, 3});
  ledger.commit(0);
  EXPECT_THAT(fold->seen, ElementsAre(2));
  EXPECT_EQ(ledger.take_ended()->samples, 30U);
}

TEST(ledger_steps, other_calls_wait_for_no_decision) {
  fold_ledger ledger{{.sinks = 1, .window = 10}};
  ledger.begin(0, {std::make_shared<recording_fold>()}, {}, call_end::when_committed);
  ledger.begin(1, {std::make_shared<recording_fold>()});
  ledger.close({1, 0});
  EXPECT_FALSE(ledger.is_folded(1)) << "it has all, and ends behind the step";
  ledger.commit(1);
  ledger.close({0, 0});
  EXPECT_FALSE(ledger.take_ended());
  ledger.commit(0);
  EXPECT_EQ(ledger.take_ended()->call, 0U);
  EXPECT_EQ(ledger.take_ended()->call, 1U);
}

TEST(ledger_steps, an_empty_step_waits_for_its_commit_as_well) {
  fold_ledger ledger{{.sinks = 1, .window = 10}};
  ledger.begin(0, {std::make_shared<recording_fold>()}, {}, call_end::when_committed);
  ledger.close({0, 0});
  EXPECT_TRUE(ledger.is_folded(0));
  EXPECT_FALSE(ledger.take_ended());
  ledger.commit(0);
  EXPECT_EQ(ledger.take_ended()->folded, 0U);
}

}  // namespace
}  // namespace troupe::testing
