// Goal: one decision per step, of votes of one epoch, written before it is told; calls that were cancelled and steps
// without weight take no number. Method: two stages, one of them in two replicas, and a journal that notes the order.
#include "runtime/step/step_ledger.hpp"

#include <functional>
#include <limits>
#include <random>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/step/step_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using verdict = step_ledger::verdict;

struct noting_journal final : journal_appender {
  std::vector<step_record> steps;
  bool is_full = false;
  expected<void> append(const score&) override { return {}; }
  expected<void> append(const step_record& step) override {
    if (is_full) return fail(error_code::journal_unwritable, "j", "full");
    steps.push_back(step);
    return {};
  }
};

const std::vector<stage_address> three_voters = {{1, 0}, {0, 0}, {0, 1}};

step_policy halving_rate() {
  return {.learning_rate = [](std::uint64_t step) { return 1.0 / static_cast<double>(1U << step); }};
}

class ledger_of_steps : public ::testing::Test {
 protected:
  ledger_of_steps() { steps.begin_epoch(1); }
  void vote_all(call_number call, double weight = 8, epoch_number epoch = 1) {
    for (const stage_address& at : three_voters) EXPECT_EQ(vote(call, at, weight, epoch), verdict::counted);
  }
  verdict vote(call_number call, stage_address at, double weight = 8, epoch_number epoch = 1) {
    return get(steps.vote(vote_with(call, at, weight, epoch)));
  }
  static step_vote vote_with(call_number call, stage_address at, double weight = 8, epoch_number epoch = 1) {
    step_vote made = vote_of(at, call, at.stage == 0 ? std::vector<double>{16, 16} : std::vector<double>{32},
                             at.stage == 1 ? weight : 0);
    made.epoch = epoch;
    return made;
  }
  void expect_refused(const step_vote& vote, const std::string& piece) {
    const auto counted = steps.vote(vote);
    ASSERT_FALSE(counted) << piece;
    EXPECT_EQ(counted.error().code, error_code::worker_mismatch);
    EXPECT_THAT(to_string(counted.error()), HasSubstr(piece));
  }
  std::shared_ptr<noting_journal> journal = std::make_shared<noting_journal>();
  step_ledger steps{three_voters, halving_rate(), journal};
};

TEST_F(ledger_of_steps, decides_when_all_have_voted_and_has_written_it_then) {
  steps.begin(0);
  EXPECT_EQ(get(steps.decide(0)), std::nullopt);
  EXPECT_EQ(vote(0, {1, 0}), verdict::counted);
  EXPECT_EQ(vote(0, {0, 0}), verdict::counted);
  EXPECT_EQ(vote(0, {0, 0}), verdict::duplicate);
  EXPECT_EQ(get(steps.decide(0)), std::nullopt) << "a replica has not voted";
  EXPECT_FALSE(steps.last_decision());
  EXPECT_EQ(vote(0, {0, 1}), verdict::counted);
  const auto made = get(steps.decide(0, {7}));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->number, 0U);
  EXPECT_EQ(made->decision.call, 0U);
  EXPECT_EQ(made->decision.step, 0U);
  EXPECT_TRUE(made->decision.is_applied);
  EXPECT_EQ(made->decision.gradient_scale, 1.0 / 8);
  EXPECT_EQ(made->decision.learning_rate, 1);
  EXPECT_EQ(made->weight, 8);
  EXPECT_EQ(made->norm, 1) << "the root of 16 + 16 + 32, over 8";
  ASSERT_EQ(journal->steps.size(), 1U);
  EXPECT_EQ(journal->steps[0].decision.call, 0U);
  EXPECT_THAT(journal->steps[0].folded, ::testing::ElementsAre(7));

  EXPECT_EQ(get(steps.decide(0)), std::nullopt) << "it is decided once";
  EXPECT_EQ(vote(0, {0, 1}), verdict::stale);
  ASSERT_TRUE(steps.last_decision());
  EXPECT_EQ(steps.last_decision()->decision.call, 0U);
}

TEST_F(ledger_of_steps, notices_a_stage_that_has_not_seen_all_micro_batches) {
  steps.begin(0);
  const auto vote_of_seen = [&](stage_address at, std::uint64_t seen) {
    step_vote made = vote_with(0, at);
    made.micro_batches = seen;
    EXPECT_EQ(get(steps.vote(made)), verdict::counted);
  };
  vote_of_seen({0, 0}, 3);
  vote_of_seen({1, 0}, 4);
  EXPECT_FALSE(steps.lacks_work(0, 5)) << "a vote is missing";
  vote_of_seen({0, 1}, 1);
  EXPECT_FALSE(steps.lacks_work(0, 4)) << "both replicas together have seen all";
  EXPECT_TRUE(steps.lacks_work(0, 5));
  EXPECT_FALSE(steps.lacks_work(1, 5)) << "no such step";
}

TEST_F(ledger_of_steps, does_not_count_votes_of_two_epochs_together) {
  steps.begin(0);
  vote(0, {1, 0});
  vote(0, {0, 0});
  steps.begin_epoch(2);
  EXPECT_EQ(vote(0, {0, 1}), verdict::stale) << "of the epoch before";
  EXPECT_EQ(vote(0, {0, 1}, 8, 2), verdict::counted);
  EXPECT_EQ(get(steps.decide(0)), std::nullopt);
  steps.begin_epoch(1);
  steps.begin_epoch(2);
  EXPECT_EQ(vote(0, {0, 1}, 8, 2), verdict::duplicate) << "an epoch that is not newer forgets nothing";
  EXPECT_EQ(vote(0, {1, 0}, 8, 2), verdict::counted);
  EXPECT_EQ(vote(0, {0, 0}, 8, 2), verdict::counted);
  EXPECT_TRUE(get(steps.decide(0)));
}

TEST_F(ledger_of_steps, a_decision_stands_when_an_epoch_begins_and_when_its_call_is_cancelled) {
  steps.begin(0);
  vote_all(0);
  ASSERT_TRUE(get(steps.decide(0)));
  steps.begin_epoch(2);
  steps.cancel(0);
  EXPECT_EQ(vote(0, {0, 0}, 8, 2), verdict::stale) << "a stage that did the step again";
  EXPECT_EQ(get(steps.decide(0)), std::nullopt);
  ASSERT_TRUE(steps.last_decision());
  EXPECT_EQ(steps.last_decision()->decision.call, 0U);
  EXPECT_EQ(journal->steps.size(), 1U);
}

TEST_F(ledger_of_steps, counts_steps_without_those_that_were_cancelled_and_calls_that_are_none) {
  steps.begin(0);
  steps.begin(2);
  steps.begin(5);
  vote_all(0);
  EXPECT_EQ(steps.first_undecided(), 0U);
  EXPECT_EQ(get(steps.decide(0))->decision.step, 0U);
  EXPECT_EQ(steps.first_undecided(), 2U);
  vote(2, {0, 0});
  steps.cancel(2);
  EXPECT_EQ(steps.first_undecided(), 5U);
  EXPECT_EQ(vote(2, {0, 1}), verdict::stale);
  vote_all(5);
  const auto made = get(steps.decide(5));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->number, 1U);
  EXPECT_EQ(made->decision.step, 1U);
  EXPECT_EQ(made->decision.learning_rate, 0.5);
}

TEST_F(ledger_of_steps, decides_in_the_order_of_the_calls) {
  steps.begin(0);
  steps.begin(1);
  vote_all(1);
  EXPECT_EQ(get(steps.decide(1)), std::nullopt);
  vote_all(0);
  EXPECT_TRUE(get(steps.decide(0)));
  EXPECT_TRUE(get(steps.decide(1)));
}

TEST_F(ledger_of_steps, does_not_apply_a_step_whose_samples_have_no_weight) {
  for (const call_number call : {0U, 1U, 2U}) {
    steps.begin(call);
    vote_all(call, call == 1 ? 0 : 8);
    const auto made = get(steps.decide(call));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->number, call);
    EXPECT_EQ(made->decision.is_applied, call != 1);
    EXPECT_EQ(made->decision.step, call == 0 ? 0U : 1U);
    EXPECT_EQ(made->decision.gradient_scale, call == 1 ? 0 : 1.0 / 8);
  }
}

TEST_F(ledger_of_steps, scales_down_to_the_greatest_norm) {
  step_policy policy = halving_rate();
  policy.clip_norm = 0.25;
  policy.first_step = 3;
  policy.first_number = 4;
  steps = step_ledger(three_voters, policy);
  steps.begin_epoch(1);
  steps.begin(0);
  vote_all(0);
  const auto made = get(steps.decide(0));
  ASSERT_TRUE(made);
  EXPECT_DOUBLE_EQ(made->decision.gradient_scale, 0.25 / (1 + 1e-6) / 8);
  EXPECT_EQ(made->norm, 1) << "before clipping";
  EXPECT_EQ(made->number, 4U);
  EXPECT_EQ(made->decision.step, 3U);
  EXPECT_EQ(made->decision.learning_rate, 1.0 / 8);
}

TEST_F(ledger_of_steps, goes_on_behind_a_step_whose_gradient_is_not_finite) {
  steps.begin(0);
  steps.begin(1);
  vote(0, {0, 0});
  vote(0, {0, 1});
  step_vote broken = vote_with(0, {1, 0});
  broken.not_finite = error{error_code::gradient_not_finite, "layer 3 (Linear), micro-batch 2", "NaN", {}};
  EXPECT_EQ(get(steps.vote(broken)), verdict::counted);
  const auto refused = steps.decide(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "step 0, stage 1, layer 3 (Linear), micro-batch 2");
  EXPECT_EQ(get(steps.decide(0)), std::nullopt);
  EXPECT_EQ(vote(0, {0, 0}), verdict::stale);
  EXPECT_TRUE(journal->steps.empty());
  vote_all(1);
  EXPECT_EQ(get(steps.decide(1))->decision.step, 0U) << "the call took no number";
}

TEST_F(ledger_of_steps, goes_on_behind_a_step_without_a_learning_rate) {
  std::function<double()> rate = [] { return std::numeric_limits<double>::infinity(); };
  steps = step_ledger(three_voters, {.learning_rate = [&](std::uint64_t) { return rate(); }}, journal);
  steps.begin_epoch(1);
  const auto expect_error = [&](call_number call, const char* piece) {
    steps.begin(call);
    vote_all(call);
    const auto refused = steps.decide(call);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::value_out_of_range);
    EXPECT_EQ(refused.error().where, "learning rate, step 0");
    EXPECT_THAT(refused.error().cause, HasSubstr(piece));
  };
  expect_error(0, "inf");
  rate = []() -> double { throw std::runtime_error("the table ends"); };
  expect_error(1, "the table ends");
  rate = []() -> double { throw 5; };
  expect_error(2, "no std::exception");
  EXPECT_TRUE(journal->steps.empty());
  rate = [] { return 0.5; };
  steps.begin(3);
  vote_all(3);
  EXPECT_EQ(get(steps.decide(3))->decision.step, 0U) << "the calls took no number";
}

TEST_F(ledger_of_steps, tells_nothing_that_the_journal_does_not_take) {
  steps.begin(0);
  vote_all(0);
  journal->is_full = true;
  const auto refused = steps.decide(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::journal_unwritable);
  EXPECT_FALSE(steps.last_decision());
}

TEST_F(ledger_of_steps, refuses_votes_that_fit_nothing) {
  steps.begin(0);
  expect_refused(vote_with(0, {2, 0}), "stage 2, replica 0: its vote about call 0 is of a stage that does not train");
  expect_refused(vote_with(0, {0, 2}), "stage 0, replica 2");
  expect_refused(vote_with(1, {0, 0}), "comes before the call");
  expect_refused(vote_with(0, {0, 0}, 8, 2), "is of epoch 2, the present one is 1");
  EXPECT_EQ(vote(0, {0, 0}), verdict::counted);
  step_vote longer = vote_with(0, {0, 1});
  longer.squared_norms.push_back(1);
  expect_refused(longer, "has 3 parameters, its stage had 2");
  EXPECT_EQ(vote(0, {0, 1}), verdict::counted);
  EXPECT_EQ(vote(0, {1, 0}), verdict::counted);
  EXPECT_TRUE(get(steps.decide(0)));
  steps.begin(1);
  longer = vote_with(1, {0, 0});
  longer.squared_norms.clear();
  expect_refused(longer, "has 0 parameters, its stage had 2");
}

/// Votes of three epochs in any order and number, against the plain rule.
TEST(ledger_of_steps_random, decides_once_every_voter_of_the_present_epoch_has_voted) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random{seed};
    const auto journal = std::make_shared<noting_journal>();
    step_ledger steps(three_voters, halving_rate(), journal);
    steps.begin_epoch(1);
    epoch_number epoch = 1;
    call_number open = 0;
    steps.begin(0);
    std::vector<bool> has_voted(3, false);
    for (int turn = 0; turn < 60; ++turn) {
      if (random() % 8 == 0 && epoch < 9) {
        steps.begin_epoch(++epoch);
        has_voted.assign(3, false);
      }
      const std::size_t voter = random() % 3;
      const epoch_number of = std::max<epoch_number>(1, epoch - random() % 2);
      const call_number call = open - std::min<call_number>(open, random() % 2);
      step_vote vote = vote_of(three_voters[voter], call, {1}, three_voters[voter].stage == 1 ? 2 : 0);
      vote.epoch = of;
      const bool counts = of == epoch && call == open;
      const auto expected = !counts ? verdict::stale : has_voted[voter] ? verdict::duplicate : verdict::counted;
      ASSERT_EQ(get(steps.vote(vote)), expected) << "seed " << seed;
      if (counts) has_voted[voter] = true;
      const bool is_complete = has_voted == std::vector<bool>(3, true);
      const auto made = get(steps.decide(open));
      ASSERT_EQ(made.has_value(), is_complete) << "seed " << seed;
      if (!is_complete) continue;
      has_voted.assign(3, false);
      steps.begin(++open);
    }
    EXPECT_EQ(journal->steps.size(), open);
  }
}

}  // namespace
}  // namespace troupe::testing
