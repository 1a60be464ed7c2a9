// A test of a topology in virtual time: no model, no process, and hundreds of plans of faults in a second. One stage
// keeps a state that changes its result, which only a replay shows.
#include <iostream>

#include <gtest/gtest.h>

#include <troupe/simulation.hpp>

namespace {

using troupe::micro_batch_id;
using samples = std::span<std::uint64_t>;

/// The bug: brightness is measured against the samples that came before, and samples sent again after a loss are
/// counted a second time.
troupe::simulation::forward relative_brightness() {
  return [mean = std::uint64_t{0}](micro_batch_id, samples batch) mutable {
    for (std::uint64_t& each : batch) {
      mean = mean / 2 + each / 2;
      each -= mean;
    }
  };
}

troupe::simulation::forward brightness() {
  return [](micro_batch_id, samples batch) {
    for (std::uint64_t& each : batch) each /= 2;
  };
}

/// Early exit: what the first net is sure of goes around the second one.
troupe::simulation::network cascade(troupe::simulation::make_forward first_stage) {
  return troupe::simulation::network{}
      .stage("brightness", std::move(first_stage))
      .stage("small", nullptr, {.replicas = 2})
      .route("sure", {"yes", "no"}, [](std::uint64_t sample) { return sample % 3 == 0 ? 1 : 0; })
      .stage("large", nullptr, {.replicas = 2, .from = {"sure.no"}})
      .sink("sure.yes")
      .sink("large");
}

TEST(cascade, keeps_its_bits_under_all_faults) {
  const auto failed = troupe::simulation::find_failure(cascade(brightness), 1, 200);
  ASSERT_TRUE(failed) << to_string(failed.error());
  EXPECT_FALSE(failed->has_value()) << explain(**failed);
}

TEST(cascade, with_a_state_is_right_as_long_as_nothing_happens) {
  const auto run = troupe::simulation::simulate(cascade(relative_brightness), 1, {.faults = false});
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(run->difference, "");
}

TEST(cascade, with_a_state_does_not_survive_a_replay) {
  const auto failed = troupe::simulation::find_failure(cascade(relative_brightness), 1, 200);
  ASSERT_TRUE(failed) << to_string(failed.error());
  ASSERT_TRUE(failed->has_value()) << "no plan of 200 seeds shows the bug";
  EXPECT_EQ((*failed)->least.faults.size(), 1u);
  std::cout << explain(**failed);
  const auto again = troupe::simulation::simulate(cascade(relative_brightness), (*failed)->first.seed);
  EXPECT_EQ(again->trace_hash, (*failed)->first.trace_hash) << "it can be looked at again";
}

TEST(cascade, keeps_its_bits_when_a_worker_dies_and_a_frame_is_lost) {
  troupe::simulation::settings how;
  how.plan.add("kill:stage=large,at=mb3").add("drop:edge=brightness-small,at=0.2s");
  const auto failed = troupe::simulation::find_failure(cascade(brightness), 1, 50, how);
  ASSERT_TRUE(failed) << to_string(failed.error());
  EXPECT_FALSE(failed->has_value()) << explain(**failed);
}

TEST(cascade, is_refused_where_a_node_takes_from_none) {
  const auto run = troupe::simulation::simulate(cascade(brightness).stage("last", nullptr, {.from = {"nowhere"}}), 1);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, troupe::error_code::topology_invalid);
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
