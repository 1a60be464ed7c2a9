// Goal: a resumed run makes the decisions of its journal again, or the first that differs is named; none is written
// twice. Method: a run whose journal is in memory, and a second one over the first one's records.
#include "runtime/step/step_replay.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/step/step_ledger.hpp"
#include "tests/runtime/step/step_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

struct kept_records final : journal_appender {
  std::vector<step_record> steps;
  expected<void> append(const score&) override { return {}; }
  expected<void> append(const step_record& step) override {
    steps.push_back(step);
    return {};
  }
};

/// One stage; the call k has the weight k + 1, but the call 2 none. The scores of call k are folded to k.
class resumed_training : public ::testing::Test {
 protected:
  resumed_training() { EXPECT_TRUE(train(0, 5, step_replay(), {}, 0)); }

  /// Decides `calls` steps. Calls of this run are numbered from 0; the first one has the data of `position`.
  expected<void> train(std::uint64_t position, std::uint64_t calls, step_replay earlier, double rate_of_3,
                       std::uint64_t first_step) {
    step_policy policy;
    policy.learning_rate = [=](std::uint64_t step) { return step == 3 && rate_of_3 != 0 ? rate_of_3 : 0.1; };
    policy.first_step = first_step;
    policy.first_number = position;
    step_ledger steps({{0, 0}}, policy, journal, std::move(earlier));
    for (call_number call = 0; call < calls; ++call) {
      const std::uint64_t data = position + call;
      steps.begin(call);
      step_vote vote =
          vote_of({0, 0}, call, {static_cast<double>(data)}, data == 2 ? 0 : static_cast<double>(data + 1));
      vote.epoch = 0;
      EXPECT_TRUE(steps.vote(vote));
      const auto made = steps.decide(call, {data});
      if (!made) return tl::make_unexpected(made.error());
    }
    left = steps.replays_left();
    return {};
  }
  step_replay replay(std::uint64_t first) const {
    step_replay made(first);
    for (const step_record& each : journal->steps) made.expect(each);
    return made;
  }
  void expect_mismatch(const expected<void>& done, const std::string& piece) {
    ASSERT_FALSE(done) << piece;
    EXPECT_EQ(done.error().code, error_code::journal_mismatch);
    EXPECT_THAT(to_string(done.error()), HasSubstr(piece));
    EXPECT_FALSE(done.error().fix.empty());
  }
  std::shared_ptr<kept_records> journal = std::make_shared<kept_records>();
  std::size_t left = 0;
};

TEST_F(resumed_training, makes_the_same_decisions_and_appends_the_later_ones_only) {
  ASSERT_EQ(journal->steps.size(), 5U);
  const auto before = journal->steps;
  for (const std::uint64_t checkpoint : {0U, 1U, 2U, 3U, 5U}) {
    journal->steps = before;
    const step_replay earlier = replay(checkpoint);
    ASSERT_TRUE(earlier.check_reach());
    // The decision 2 was not applied, so that the step behind it has the number 2.
    const std::uint64_t step = checkpoint > 2 ? checkpoint - 1 : checkpoint;
    ASSERT_TRUE(train(checkpoint, 7 - checkpoint, earlier, {}, step)) << checkpoint;
    ASSERT_EQ(journal->steps.size(), 7U) << checkpoint;
    EXPECT_EQ(journal->steps.back().number, 6U);
    EXPECT_EQ(journal->steps.back().decision.step, 5U);
    EXPECT_EQ(left, 0U);
  }
}

TEST_F(resumed_training, that_ends_early_has_decisions_left) {
  ASSERT_TRUE(train(1, 2, replay(1), {}, 1));
  EXPECT_EQ(left, 2U);
  EXPECT_EQ(journal->steps.size(), 5U);
}

TEST_F(resumed_training, with_another_option_is_told_step_and_field) {
  expect_mismatch(train(0, 5, replay(0), 0.2, 0), "step 3: learning_rate was 0.1 in the journal and is 0.2");
}

TEST_F(resumed_training, with_one_other_bit_anywhere_is_told_the_field) {
  const auto with = [&](auto change) {
    step_record changed = journal->steps[0];
    change(changed);
    step_replay earlier;
    earlier.expect(changed);
    return earlier;
  };
  const auto again = [&](step_replay earlier) { return train(0, 1, std::move(earlier), {}, 0); };
  EXPECT_TRUE(again(with([](step_record& each) { each.decision.call = 99; }))) << "calls are numbered by run";
  expect_mismatch(again(with([](step_record& each) { each.weight = std::nextafter(each.weight, 2); })),
                  "step 0: weight was 1.0000000000000002 in the journal and is 1");
  expect_mismatch(again(with([](step_record& each) { each.norm = -0.0; })), "norm was -0 in the journal and is 0");
  expect_mismatch(again(with([](step_record& each) { each.decision.gradient_scale = 2; })),
                  "gradient_scale was 2 in the journal and is 1");
  expect_mismatch(again(with([](step_record& each) { each.decision.is_applied = false; })),
                  "is_applied was false in the journal and is true");
  expect_mismatch(again(with([](step_record& each) { each.decision.step = 7; })), "step was 7 in the journal and is 0");
  expect_mismatch(again(with([](step_record& each) { each.folded = {1}; })),
                  "the folded scores are others than in the journal");
}

TEST_F(resumed_training, does_not_go_on_from_a_checkpoint_that_its_journal_does_not_reach) {
  EXPECT_TRUE(step_replay(0).check_reach());
  EXPECT_TRUE(step_replay(7).check_reach()) << "a new journal";
  EXPECT_TRUE(replay(5).check_reach());
  expect_mismatch(replay(6).check_reach(), "it ends with decision 4, and the checkpoint is behind decision 5");
  step_replay later(1);
  step_record third = journal->steps[3];
  later.expect(third);
  expect_mismatch(later.check_reach(), "it begins with decision 3, behind the checkpoint, which has 1");
}

}  // namespace
}  // namespace troupe::testing
