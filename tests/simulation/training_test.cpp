// Goal: training keeps its promise under faults that seeds draw: every forward pass, score and decision is that of a
// plain loop, whatever dies in which phase of a step. Method: weights and gradients are hashes, so that a gradient that
// is added twice, to other weights, or not at all changes everything that comes later; evaluations between the steps
// and behind them show the weights.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <gmock/gmock.h>

#include "testing/simulation/graph_wiring.hpp"
#include "testing/simulation/judge.hpp"
#include "testing/simulation/world.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::simulation {
namespace {

TEST(simulated_training, without_faults_is_a_plain_loop) {
  simulator world;
  for (const std::uint32_t stages : {1u, 2u, 4u}) {
    for (const std::uint32_t replicas : {1u, 2u, 4u}) {
      const plan what{.seed = 3, .stages = stages, .replicas = replicas, .calls = {5, 0, 4, 12, 1, 6}, .trains = true};
      const run_report report = world.run(what);
      EXPECT_EQ(report.wrong, "") << describe(what);
      EXPECT_EQ(report.ended, "same bits");
      EXPECT_EQ(std::ranges::count(world.seen(), happening::decided, &event::what), 4);
    }
  }
}

TEST(simulated_training, of_stages_that_share_a_weight_is_a_plain_loop) {
  simulator world;
  for (const std::vector<std::uint32_t>& tied : std::vector<std::vector<std::uint32_t>>{{0, 3}, {1, 2}, {0, 1, 2, 3}}) {
    for (const std::uint32_t replicas : {1u, 2u, 4u}) {
      plan what{
          .seed = 3, .stages = 4, .replicas = replicas, .calls = {5, 0, 4, 12, 1, 6}, .trains = true, .tied = tied};
      const run_report report = world.run(what);
      EXPECT_EQ(report.wrong, "") << describe(what);
      EXPECT_EQ(report.ended, "same bits");
      for (const body_harm harm : {body_harm::forgets_a_tied_sum, body_harm::adds_a_tied_sum_twice}) {
        what.harm = harm;
        what.harmed_node = tied.back();
        EXPECT_NE(world.run(what).wrong, "") << describe(what) << " does not show it";
      }
    }
  }
}

/// Between two stages that share a weight.
TEST(simulated_training, adds_a_tied_sum_that_comes_twice_once) {
  const plan tied{.seed = 7, .stages = 2, .calls = {12, 12, 3}, .trains = true, .tied = {0, 1}, .forward_us = 2'000};
  const std::size_t channels = wiring_of(with_graph(tied).graph, true, tied.tied).channels.size();
  for (const std::size_t channel : {channels - 2, channels - 1}) {
    for (const auto kind : {fault_kind::double_frame, fault_kind::lose_frame}) {
      for (std::int64_t at_us = 60'000; at_us < 140'000; at_us += 2'000) {
        simulator world;
        plan what = tied;
        what.faults = {{.kind = kind, .at_us = at_us, .channels = {channel}}};
        const run_report report = world.run(what);
        EXPECT_EQ(report.wrong, "") << describe(what);
        EXPECT_EQ(report.ended, "same bits");
      }
    }
  }
}

/// Its votes were there, but for that of the stage that dies, and the loader has no micro-batch to name.
TEST(simulated_training, does_an_empty_step_again_when_a_stage_dies) {
  simulator world;
  plan what{.seed = 51, .stages = 4, .replicas = 4, .calls = {0, 12, 5}, .trains = true, .forward_us = 2'000};
  what.faults = {{.kind = fault_kind::freeze, .at_us = 56'945, .for_us = 2'000'000, .stage = 2},
                 {.kind = fault_kind::kill, .at_us = 80'409, .stage = 2}};
  const run_report report = world.run(what);
  EXPECT_EQ(report.wrong, "");
  EXPECT_EQ(report.ended, "same bits");
}

/// From the loader, between the stages, and a gradient.
TEST(simulated_training, adds_the_gradient_of_a_frame_that_comes_twice_once) {
  for (const std::size_t channel : {0u, 1u, 2u}) {
    for (std::int64_t at_us = 60'000; at_us < 100'000; at_us += 2'000) {
      simulator world;
      plan what{.seed = 7, .stages = 2, .calls = {12, 12, 3}, .trains = true, .forward_us = 2'000};
      what.faults = {{.kind = fault_kind::double_frame, .at_us = at_us, .channels = {channel}}};
      const run_report report = world.run(what);
      EXPECT_EQ(report.wrong, "") << describe(what);
      EXPECT_EQ(report.ended, "same bits");
    }
  }
}

TEST(simulated_training, every_seed_keeps_what_is_promised) {
  simulator world;
  std::size_t same = 0;
  const bool has_time = std::getenv("TROUPE_ALL_CASES") != nullptr;
  const std::uint64_t seeds = troupe::testing::sanitized ? 100 : has_time ? 60'000 : 1000;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const plan what = draw_training_plan(seed);
    const run_report report = world.run(what);
    ASSERT_EQ(report.wrong, "") << describe(what);
    same += report.ended == "same bits" ? 1 : 0;
  }
  EXPECT_GT(same, seeds / 2);
}

/// As if the product had done it.
class tampered_training : public ::testing::Test {
 protected:
  tampered_training() {
    EXPECT_EQ(world_.run(plan_).wrong, "");
    seen_ = world_.seen();
  }
  event& nth(happening what, std::size_t n) {
    for (event& each : seen_) {
      if (each.what == what && n-- == 0) return each;
    }
    throw std::out_of_range("there are less");
  }
  [[nodiscard]] std::string verdict() const {
    const auto wrong = judge(plan_, seen_, {});
    return wrong ? wrong->invariant : "";
  }
  const plan plan_{.seed = 5, .stages = 2, .replicas = 2, .calls = {4, 3, 2}, .trains = true};
  simulator world_;
  history seen_;
};

TEST_F(tampered_training, is_clean_where_nothing_was_changed) {
  EXPECT_EQ(verdict(), "");
}

TEST_F(tampered_training, shows_a_factor_or_rate_of_another_bit) {
  nth(happening::decided, 1).value ^= 1U;
  EXPECT_EQ(verdict(), "same-decision");
  nth(happening::decided, 1).value ^= 1U;
  nth(happening::decided, 1).other ^= 1U;
  EXPECT_EQ(verdict(), "same-decision");
}

TEST_F(tampered_training, shows_a_decision_that_is_made_twice) {
  nth(happening::decided, 1).call = 0;
  EXPECT_NE(verdict(), "");
}

/// The forward passes of the last call were then made with weights that there never were.
TEST_F(tampered_training, shows_a_step_without_a_decision) {
  std::erase_if(seen_, [](const event& each) { return each.what == happening::decided && each.call == 1; });
  EXPECT_NE(verdict(), "");
}

TEST_F(tampered_training, shows_a_decision_before_all_scores) {
  const auto first = std::ranges::find(seen_, happening::decided, &event::what);
  const event early = *first;
  seen_.erase(first);
  const auto score = std::ranges::find(seen_, happening::folded, &event::what);
  seen_.insert(score, early);
  EXPECT_EQ(verdict(), "steps");
}

TEST_F(tampered_training, shows_weights_of_one_other_bit) {
  event* last = nullptr;
  for (event& each : seen_) {
    if (each.what == happening::forwarded && each.call == 2) last = &each;
  }
  ASSERT_NE(last, nullptr);
  last->value ^= 1U;
  EXPECT_EQ(verdict(), "right-parts");
}

}  // namespace
}  // namespace troupe::simulation
