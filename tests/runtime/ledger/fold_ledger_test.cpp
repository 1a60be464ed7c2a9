// Goal: exactly once, in id order, whatever arrives. Method: a fold that writes down ids; random arrivals against a
// model.
#include "runtime/ledger/fold_ledger.hpp"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>

#include "tests/runtime/ledger/ledger_support.hpp"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using testing::recording_fold;
using testing::score_of;

class ledger_test : public ::testing::Test {
 protected:
  std::shared_ptr<recording_fold> begin(call_number call) {
    auto fold = std::make_shared<recording_fold>();
    ledger.begin(call, {fold});
    return fold;
  }
  fold_ledger ledger{{.sinks = 1, .window = 100}};
};

TEST_F(ledger_test, drops_what_is_held_beyond_the_count) {
  auto first = begin(0);
  auto second = begin(1);
  EXPECT_EQ(ledger.fold(score_of(0, 2)), fold_ledger::verdict::held);
  EXPECT_EQ(ledger.fold(score_of(1, 0)), fold_ledger::verdict::held);
  ledger.close({0, 1});
  EXPECT_EQ(ledger.fold(score_of(0, 0)), fold_ledger::verdict::folded);
  EXPECT_THAT(first->seen, ElementsAre(0));
  EXPECT_THAT(second->seen, ElementsAre(0)) << "nothing stands before the next call";
}

TEST_F(ledger_test, goes_on_behind_what_an_earlier_run_folded) {
  auto before = begin(0);
  auto fold = std::make_shared<recording_fold>();
  ledger.begin(1, {fold}, {.folded = {3}, .samples = 30});
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{0, 0}));
  EXPECT_EQ(ledger.fold(score_of(1, 4)), fold_ledger::verdict::held);
  ledger.close({0, 0});
  EXPECT_EQ(ledger.take_ended()->call, 0U);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{1, 3}));
  EXPECT_EQ(ledger.fold(score_of(1, 2)), fold_ledger::verdict::duplicate);
  EXPECT_EQ(ledger.tally(1)->folded, 3U);
  EXPECT_EQ(ledger.fold(score_of(1, 3)), fold_ledger::verdict::folded);
  EXPECT_THAT(fold->seen, ElementsAre(3, 4));
  ledger.close({1, 5});
  const auto ended = ledger.take_ended();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->expected, 5U);
  EXPECT_EQ(ended->folded, 5U);
  EXPECT_EQ(ended->samples, 50U);
}

TEST(ledger_sinks, what_one_of_them_has_of_a_later_call_is_dropped_before_its_turn) {
  fold_ledger ledger{{.sinks = 2, .window = 100}};
  const auto fold_of_0 = std::make_shared<recording_fold>();
  const auto fold_of_1 = std::make_shared<recording_fold>();
  ledger.begin(0, {std::make_shared<recording_fold>(), std::make_shared<recording_fold>()});
  ledger.begin(1, {fold_of_0, fold_of_1}, {.folded = {2, 4}, .samples = 20});
  for (std::uint64_t index = 2; index < 5; ++index) {
    const auto expected = index < 4 ? fold_ledger::verdict::duplicate : fold_ledger::verdict::held;
    EXPECT_EQ(ledger.fold(score_of(1, index, 1)), expected) << index;
    EXPECT_EQ(ledger.fold(score_of(1, index, 0)), fold_ledger::verdict::held);
  }
  ledger.close({0, 0});
  ledger.close({1, 5});
  EXPECT_THAT(fold_of_0->seen, ElementsAre(2, 3, 4));
  EXPECT_THAT(fold_of_1->seen, ElementsAre(4));
  EXPECT_EQ(ledger.take_ended()->call, 0U);
  EXPECT_EQ(ledger.take_ended()->folded, 5U);
}

TEST_F(ledger_test, ends_a_call_of_which_everything_was_folded_before) {
  auto fold = std::make_shared<recording_fold>();
  ledger.begin(0, {fold}, {.folded = {3}, .samples = 30});
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{0, 3}));
  EXPECT_FALSE(ledger.take_ended());
  ledger.close({0, 3});
  EXPECT_EQ(ledger.take_ended()->folded, 3U);
  EXPECT_TRUE(fold->seen.empty());
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{1, 0}));
}

TEST_F(ledger_test, begins_at_the_least_of_its_sinks) {
  fold_ledger two_sinks({.sinks = 2, .window = 10});
  auto first = std::make_shared<recording_fold>();
  auto second = std::make_shared<recording_fold>();
  const call_start start{.folded = {4, 2}, .samples = 40};
  EXPECT_EQ(start.first(), 2U);
  EXPECT_EQ(call_start{}.first(), 0U);
  two_sinks.begin(0, {first, second}, start);
  for (const std::uint64_t index : {2U, 3U, 4U}) {
    EXPECT_EQ(two_sinks.fold(score_of(0, index, 0)),
              index < 4 ? fold_ledger::verdict::duplicate : fold_ledger::verdict::folded);
    EXPECT_EQ(two_sinks.fold(score_of(0, index, 1)), fold_ledger::verdict::folded);
  }
  two_sinks.close({0, 5});
  EXPECT_EQ(two_sinks.take_ended()->folded, 5U);
  EXPECT_THAT(first->seen, ElementsAre(4));
  EXPECT_THAT(second->seen, ElementsAre(2, 3, 4));
}

TEST_F(ledger_test, holds_what_comes_early_and_folds_in_order) {
  auto fold = begin(0);
  EXPECT_EQ(ledger.fold(score_of(0, 2)), fold_ledger::verdict::held);
  EXPECT_EQ(ledger.fold(score_of(0, 1)), fold_ledger::verdict::held);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{0, 0}));
  EXPECT_EQ(ledger.fold(score_of(0, 0)), fold_ledger::verdict::folded);
  EXPECT_THAT(fold->seen, ElementsAre(0, 1, 2));
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{0, 3}));
  EXPECT_FALSE(ledger.take_ended());
  ledger.close({0, 3});
  const auto ended = ledger.take_ended();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->folded, 3);
  EXPECT_EQ(ended->expected, 3);
  EXPECT_EQ(ended->samples, 30);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{1, 0}));
}

TEST_F(ledger_test, drops_duplicates_of_folded_held_and_ended) {
  auto fold = begin(0);
  ledger.fold(score_of(0, 0));
  EXPECT_EQ(ledger.fold(score_of(0, 0)), fold_ledger::verdict::duplicate);
  ledger.fold(score_of(0, 2));
  EXPECT_EQ(ledger.fold(score_of(0, 2)), fold_ledger::verdict::duplicate);
  ledger.fold(score_of(0, 1));
  ledger.close({0, 3});
  EXPECT_EQ(ledger.take_ended()->duplicates_dropped, 2);
  EXPECT_EQ(ledger.fold(score_of(0, 1)), fold_ledger::verdict::duplicate);
  EXPECT_THAT(fold->seen, ElementsAre(0, 1, 2));
}

TEST_F(ledger_test, later_calls_wait_for_the_end_of_earlier_ones) {
  auto first = begin(0);
  auto second = begin(1);
  ledger.fold(score_of(1, 0));
  ledger.close({1, 1});
  ledger.fold(score_of(0, 0));
  EXPECT_TRUE(second->seen.empty());
  ledger.close({0, 1});
  EXPECT_THAT(second->seen, ElementsAre(0));
  EXPECT_EQ(ledger.take_ended()->call, 0);
  EXPECT_EQ(ledger.take_ended()->call, 1);
}

TEST_F(ledger_test, an_empty_call_ends_in_its_turn) {
  begin(0);
  begin(1);
  ledger.close({1, 0});
  EXPECT_FALSE(ledger.take_ended());
  ledger.close({0, 0});
  EXPECT_EQ(ledger.take_ended()->folded, 0);
  EXPECT_EQ(ledger.take_ended()->call, 1);
}

TEST_F(ledger_test, cancel_jumps_to_the_next_call_and_drops_what_comes_later) {
  auto first = begin(0);
  auto second = begin(1);
  ledger.fold(score_of(0, 0));
  ledger.fold(score_of(0, 2));
  ledger.fold(score_of(1, 0));
  ledger.cancel(0);
  const auto ended = ledger.take_ended();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->cancelled);
  EXPECT_EQ(ended->folded, 1);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{1, 1}));
  EXPECT_THAT(second->seen, ElementsAre(0));
  EXPECT_EQ(ledger.fold(score_of(0, 1)), fold_ledger::verdict::duplicate);
  EXPECT_THAT(first->seen, ElementsAre(0));
}

TEST_F(ledger_test, a_fold_that_fails_cancels_its_call_alone) {
  auto first = begin(0);
  auto second = begin(1);
  first->fails_at = 1;
  ledger.fold(score_of(0, 1));
  ledger.fold(score_of(1, 0));
  ledger.fold(score_of(0, 0));
  const auto ended = ledger.take_ended();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->cancelled);
  ASSERT_TRUE(ended->cause);
  EXPECT_EQ(ended->cause->code, error_code::metric_failed);
  EXPECT_THAT(second->seen, ElementsAre(0));
}

/// What the journal did not take is in the sum all the same.
TEST_F(ledger_test, counts_a_state_that_is_folded_and_not_in_the_journal) {
  struct full_disk final : call_fold {
    [[nodiscard]] expected<void> fold(const score&) override {
      return fail(error_code::journal_unwritable, "j", "full");
    }
  };
  ledger.begin(0, {std::make_shared<full_disk>()});
  ledger.fold(score_of(0, 0));
  const auto end = ledger.take_ended();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->folded, 1u);
  EXPECT_EQ(end->samples, 10u);
  EXPECT_TRUE(end->cancelled);
}

TEST_F(ledger_test, tells_of_a_call_that_it_gives_up_and_folds_nothing_more_of_it) {
  auto first = begin(0);
  auto second = begin(1);
  ledger.fold(score_of(0, 0));
  ledger.fold(score_of(0, 1));
  const auto now = ledger.abandon(0);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->folded, 2u);
  EXPECT_EQ(now->samples, 20u);
  EXPECT_EQ(ledger.fold(score_of(0, 2)), fold_ledger::verdict::duplicate);
  EXPECT_THAT(first->seen, ElementsAre(0, 1));

  ledger.fold(score_of(1, 0));
  ledger.close({1, 1});
  while (ledger.take_ended()) continue;
  const auto taken = ledger.abandon(1);
  ASSERT_TRUE(taken) << "who takes it may not have told of it yet";
  EXPECT_EQ(taken->folded, 1u);
  EXPECT_FALSE(taken->cancelled);
  EXPECT_FALSE(ledger.abandon(2)) << "it has not begun";
}

TEST(ledger_sinks, a_fold_that_fails_at_one_of_them_ends_the_call_for_all) {
  fold_ledger ledger{{.sinks = 2, .window = 100}};
  auto failing = std::make_shared<recording_fold>();
  failing->fails_at = 1;
  auto other = std::make_shared<recording_fold>();
  auto next = std::make_shared<recording_fold>();
  ledger.begin(0, {other, failing});
  ledger.begin(1, {next, std::make_shared<recording_fold>()});
  ASSERT_EQ(ledger.fold(score_of(1, 0)), fold_ledger::verdict::held);
  ASSERT_EQ(ledger.fold(score_of(0, 0)), fold_ledger::verdict::folded);
  ASSERT_EQ(ledger.fold(score_of(0, 1, 1)), fold_ledger::verdict::held);
  ASSERT_EQ(ledger.fold(score_of(0, 0, 1)), fold_ledger::verdict::folded);
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{1, 0}));
  const auto ended = ledger.take_ended();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->cancelled);
  EXPECT_TRUE(ended->cause);
  EXPECT_THAT(next->seen, ElementsAre(0)) << "what was held of the next call waits for nothing more";
}

TEST(ledger_sinks, low_water_is_the_least_of_them) {
  fold_ledger ledger{{.sinks = 2, .window = 10}};
  auto a = std::make_shared<recording_fold>();
  auto b = std::make_shared<recording_fold>();
  ledger.begin(0, {a, b});
  ledger.fold(score_of(0, 0, 0));
  ledger.fold(score_of(0, 1, 0));
  ledger.fold(score_of(0, 0, 1));
  EXPECT_EQ(ledger.low_water(), (micro_batch_id{0, 1}));
  ledger.close({0, 2});
  EXPECT_FALSE(ledger.take_ended());
  ledger.fold(score_of(0, 1, 1));
  EXPECT_EQ(ledger.take_ended()->folded, 2);
}

TEST(ledger_random, any_arrival_order_with_duplicates_folds_each_once_in_order) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random{seed};
    const std::size_t calls = 1 + random() % 4;
    fold_ledger ledger{{.sinks = 1, .window = 1000}};
    std::vector<std::shared_ptr<recording_fold>> folds;
    std::vector<std::uint64_t> counts;
    std::vector<score> arrivals;
    for (call_number call = 0; call < calls; ++call) {
      folds.push_back(std::make_shared<recording_fold>());
      ledger.begin(call, {folds.back()});
      counts.push_back(random() % 20);
      for (std::uint64_t index = 0; index < counts[call]; ++index) {
        for (std::uint64_t copies = 1 + random() % 3; copies > 0; --copies) arrivals.push_back(score_of(call, index));
      }
    }
    std::shuffle(arrivals.begin(), arrivals.end(), random);
    std::vector<call_number> to_close(calls);
    for (call_number call = 0; call < calls; ++call) to_close[call] = call;
    std::shuffle(to_close.begin(), to_close.end(), random);
    for (const score& each : arrivals) {
      ledger.fold(each);
      if (!to_close.empty() && random() % 10 == 0) {
        ledger.close({to_close.back(), counts[to_close.back()]});
        to_close.pop_back();
      }
    }
    for (const call_number call : to_close) ledger.close({call, counts[call]});
    for (call_number call = 0; call < calls; ++call) {
      ASSERT_EQ(folds[call]->seen.size(), counts[call]) << "seed " << seed;
      EXPECT_TRUE(std::is_sorted(folds[call]->seen.begin(), folds[call]->seen.end())) << "seed " << seed;
      EXPECT_EQ(ledger.take_ended()->folded, counts[call]) << "seed " << seed;
    }
  }
}

TEST(ledger_mutant, without_deduplication_a_replay_is_folded_twice) {
  fold_ledger ledger{{.sinks = 1, .window = 10, .deduplicate = false}};
  auto fold = std::make_shared<recording_fold>();
  ledger.begin(0, {fold});
  ledger.fold(score_of(0, 0));
  ledger.fold(score_of(0, 0));
  EXPECT_EQ(fold->seen.size(), 2);
}

}  // namespace
}  // namespace troupe
