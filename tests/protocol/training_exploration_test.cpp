// Goal: training with a two-phase commit per step cannot get stuck, and never changes weights twice, by a gradient that
// is not whole or of other weights, or at one stage only, whatever the order of events, with up to two deaths at any
// moment, also the second one during the recovery from the first. Method: all states of a model of the protocol
// (training_model.hpp says what it leaves out) where they are few enough; ways drawn by seed through larger ones, with
// shape and limits drawn as well.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/protocol/training_walk.hpp"

namespace troupe::testing {
namespace {

class training_protocol : public ::testing::Test {
 protected:
  /// As the director and the stages are, and with epochs that begin at marks from before a decision.
  void explore_one(training_options options) {
    explore_as_it_is(options);
    options.marks_lag = true;
    options.writes_again = false;
    if (options.deaths > 0) explore_as_it_is(options);
  }
  void explore_as_it_is(const training_options& options) {
    const auto found = exploration(training_model(options)).run(5'000'000);
    ++runs_;
    states_ += found.states;
    EXPECT_TRUE(found.is_clean()) << explain(options, found);
  }
  /// With one slot more than is needed and without, with one slot for gradients and two, with a window that holds a
  /// step and a larger one.
  void explore_all(training_options options) {
    for (std::int8_t spare = 0; spare <= 1; ++spare) {
      for (std::uint8_t gradients = 1; gradients <= 2; ++gradients) {
        options.spare_slots = spare;
        options.gradient_slots = gradients;
        options.window = static_cast<std::uint8_t>(options.micro_batches * (1 + spare));
        explore_one(options);
      }
    }
  }
  void TearDown() override {
    if (runs_ > 0) std::cout << runs_ << " explorations, " << states_ << " states\n";
    RecordProperty("states", std::to_string(states_));
  }

 private:
  std::uint64_t runs_ = 0;
  std::uint64_t states_ = 0;
};

TEST_F(training_protocol, holds_without_a_death) {
  for (std::uint8_t stages = 1; stages <= 3; ++stages) {
    for (std::uint8_t count = 1; count <= 4; ++count) {
      for (std::uint8_t steps = 1; steps <= 3; ++steps) {
        explore_all({.stages = stages, .micro_batches = count, .steps = steps});
      }
      if (count >= 2 && stages <= 2) {
        explore_all({.stages = stages, .replicas = 2, .micro_batches = count, .steps = 2});
      }
    }
  }
  explore_one({.stages = 3, .replicas = 2, .micro_batches = 3, .steps = 2});
}

TEST_F(training_protocol, holds_with_a_death) {
  for (std::uint8_t count = 1; count <= 3; ++count) {
    explore_all({.stages = 1, .micro_batches = count, .steps = 3, .deaths = 1});
    explore_all({.stages = 2, .micro_batches = count, .steps = 2, .deaths = 1});
  }
  explore_one({.stages = 3, .micro_batches = 2, .steps = 2, .deaths = 1, .is_reduced = true});
  explore_one({.stages = 3, .micro_batches = 3, .steps = 1, .deaths = 1, .is_reduced = true});
}

TEST_F(training_protocol, holds_with_a_death_among_replicas) {
  explore_all({.stages = 1, .replicas = 2, .micro_batches = 2, .steps = 2, .deaths = 1, .is_reduced = true});
  explore_one({.stages = 1, .replicas = 2, .micro_batches = 4, .steps = 2, .deaths = 1, .is_reduced = true});
  explore_one({.stages = 2, .replicas = 2, .micro_batches = 2, .steps = 1, .deaths = 1, .is_reduced = true});
}

TEST_F(training_protocol, holds_with_a_second_death_at_any_moment) {
  for (std::uint8_t count = 1; count <= 3; ++count) {
    explore_all({.stages = 1, .micro_batches = count, .steps = 3, .deaths = 2});
  }
  explore_one({.stages = 2, .micro_batches = 1, .steps = 3, .deaths = 2, .is_reduced = true});
  explore_one({.stages = 2, .micro_batches = 2, .steps = 2, .deaths = 2, .is_reduced = true});
  explore_one({.stages = 1, .replicas = 2, .micro_batches = 2, .steps = 1, .deaths = 2, .is_reduced = true});
}

/// The last stage is done with its backward passes first, and waits for the sum of the first stage, which is last.
TEST_F(training_protocol, holds_with_tied_stages) {
  for (std::uint8_t stages = 2; stages <= 3; ++stages) {
    for (std::uint8_t count = 1; count <= 3; ++count) {
      explore_all({.stages = stages, .micro_batches = count, .steps = 2, .is_tied = true});
    }
  }
  explore_all({.stages = 2, .replicas = 2, .micro_batches = 2, .steps = 2, .is_tied = true, .is_reduced = true});
  explore_all({.stages = 2, .micro_batches = 2, .steps = 2, .deaths = 1, .is_tied = true, .is_reduced = true});
  explore_one({.stages = 2, .micro_batches = 1, .steps = 3, .deaths = 1, .is_tied = true});
  explore_one({.stages = 3, .micro_batches = 2, .steps = 1, .deaths = 1, .is_tied = true, .is_reduced = true});
  explore_one({.stages = 2, .micro_batches = 1, .steps = 2, .deaths = 2, .is_tied = true, .is_reduced = true});
}

TEST_F(training_protocol, holds_where_millions_of_states_are) {
  if (std::getenv("TROUPE_ALL_CASES") == nullptr) GTEST_SKIP() << "half a minute; TROUPE_ALL_CASES=1 runs it";
  explore_one({.stages = 3, .micro_batches = 2, .steps = 2, .deaths = 2, .is_reduced = true});
  explore_one({.stages = 2, .replicas = 2, .micro_batches = 2, .steps = 2, .deaths = 1, .is_reduced = true});
}

TEST_F(training_protocol, holds_in_larger_trainings_by_seed) {
  constexpr std::uint64_t seeds = 10'000;
  std::uint64_t length = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const training_options options = drawn_training(seed);
    const auto found = walk(options, seed);
    length += found.trace.size();
    ASSERT_EQ(found.found, training_violation::none) << "seed " << seed << ": " << explain(options, found);
  }
  std::cout << seeds << " seeds, " << length << " steps\n";
}

/// The mark stands still until the decision, and a stage waits for as many micro-batches as may be live.
TEST(training_limits, a_window_smaller_than_a_step_and_fewer_slots_than_live_micro_batches_get_stuck) {
  for (const training_options& options :
       {training_options{.micro_batches = 3, .window = 2}, training_options{.micro_batches = 3, .spare_slots = -1}}) {
    const auto found = exploration(training_model(options)).run(100'000);
    EXPECT_EQ(found.found, training_violation::deadlock) << explain(options, found);
  }
}

TEST(training_reduction, changes_no_verdict) {
  std::uint64_t saved = 0;
  for (std::uint8_t deaths = 0; deaths <= 2; ++deaths) {
    for (std::uint8_t window = 1; window <= 3; ++window) {
      training_options options{.deaths = deaths, .window = window, .marks_lag = true, .writes_again = false};
      const auto full = exploration(training_model(options)).run(1'000'000);
      options.is_reduced = true;
      const auto reduced = exploration(training_model(options)).run(1'000'000);
      EXPECT_EQ(full.found, reduced.found) << explain(options, full);
      EXPECT_EQ(full.found, window == 1 ? training_violation::deadlock : training_violation::none);
      EXPECT_LE(reduced.states, full.states);
      saved += full.states - reduced.states;
    }
  }
  EXPECT_GT(saved, 10'000U);
}

}  // namespace
}  // namespace troupe::testing
