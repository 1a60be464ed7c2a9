// Goal: the exploration of the training, and the ways drawn by seed, would notice a wrong protocol. Method: every rule
// broken in turn; the same training must be clean with the rule kept. The shortest way to the damage is printed.
#include <iostream>

#include <gtest/gtest.h>

#include "tests/protocol/training_walk.hpp"

namespace troupe::testing {
namespace {

struct training_mutant_case {
  std::string name;
  training_mutant wrong;
  training_violation expected;
  training_options options;
};

std::ostream& operator<<(std::ostream& out, const training_mutant_case& each) {
  return out << each.name;
}

class broken_training : public ::testing::TestWithParam<training_mutant_case> {};

TEST_P(broken_training, is_found_by_the_exploration) {
  training_options options = GetParam().options;
  const auto right = exploration(training_model(options)).run(1'000'000);
  EXPECT_TRUE(right.is_clean()) << explain(options, right);
  options.wrong = GetParam().wrong;
  const auto found = exploration(training_model(options)).run(1'000'000);
  EXPECT_EQ(found.found, GetParam().expected) << explain(options, found);
  std::cout << explain(options, found) << "\n";
}

TEST_P(broken_training, is_found_within_ten_thousand_seeds) {
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    training_options options = drawn_training(seed);
    options.wrong = GetParam().wrong;
    if (walk(options, seed).found == training_violation::none) continue;
    std::cout << GetParam().name << ": seed " << seed << "\n";
    return;
  }
  FAIL() << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(
    all, broken_training,
    ::testing::Values(
        training_mutant_case{
            "gradient_added_twice", training_mutant::epoch_keeps_sum, training_violation::added_twice, {.deaths = 1}},
        training_mutant_case{"old_weights_used",
                             training_mutant::decision_keeps_live,
                             training_violation::other_weights,
                             {.deaths = 1, .marks_lag = true, .writes_again = false}},
        training_mutant_case{
            "forward_before_decision", training_mutant::forward_before_decision, training_violation::early_forward, {}},
        training_mutant_case{"gradient_at_a_wrong_replica",
                             training_mutant::gradient_to_neighbour,
                             training_violation::other_replica,
                             {.replicas = 2}},
        training_mutant_case{"vote_of_an_old_epoch_counted",
                             training_mutant::old_votes_count,
                             training_violation::mixed_votes,
                             {.deaths = 1}},
        training_mutant_case{
            "told_before_journaled", training_mutant::told_before_written, training_violation::unwritten, {}},
        training_mutant_case{"mark_moved_before_the_decision",
                             training_mutant::mark_before_decision,
                             training_violation::deadlock,
                             {.deaths = 1}},
        training_mutant_case{"decision_applied_twice",
                             training_mutant::decision_is_repeated,
                             training_violation::applied_twice,
                             {.deaths = 1}},
        training_mutant_case{"successor_drops_the_finished_gradient",
                             training_mutant::successor_drops_gradient,
                             training_violation::lost_step,
                             {.deaths = 1}},
        training_mutant_case{"epoch_begun_before_the_decision",
                             training_mutant::epoch_before_decision,
                             training_violation::lost_step,
                             {.stages = 1, .deaths = 2}},
        training_mutant_case{"sum_of_another_step",
                             training_mutant::sums_have_no_step,
                             training_violation::other_sum,
                             {.stages = 1, .replicas = 2, .deaths = 1, .marks_lag = true, .writes_again = false}},
        training_mutant_case{"tied_sum_is_left_out",
                             training_mutant::tied_sum_is_left_out,
                             training_violation::missing_sum,
                             {.is_tied = true}},
        training_mutant_case{"tied_sums_come_in_turn",
                             training_mutant::tied_sums_come_in_turn,
                             training_violation::deadlock,
                             {.is_tied = true}},
        training_mutant_case{"replays_of_decided_steps_are_kept",
                             training_mutant::replays_are_kept,
                             training_violation::deadlock,
                             {.deaths = 1, .marks_lag = true, .writes_again = false}}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace troupe::testing
