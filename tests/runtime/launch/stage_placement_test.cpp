// Goal: a stage keeps its node, and finds another one when that is lost, as far as there are slots. Method: small
// launches whose answers are written down by hand.
#include "runtime/launch/stage_placement.hpp"

#include <gmock/gmock.h>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

const error broken{error_code::node_lost, "node", "silent for 10 s", ""};
constexpr stage_address first{1, 0};
constexpr stage_address second{2, 0};
constexpr stage_address third{3, 0};

TEST(stage_placement, a_stage_stays_where_it_was_put) {
  stage_placement places({{"w0", 1}, {"w1", 1}}, {{first, 1}, {second, 0}}, false);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(places.node_for(first), 1u);
    EXPECT_EQ(places.node_for(second), 0u);
  }
}

TEST(stage_placement, a_lost_node_leaves_its_stages_to_free_slots_in_order) {
  stage_placement places({{"w0", 2}, {"w1", 2}, {"w2", 2}}, {{first, 0}, {second, 1}, {third, 1}}, false);
  places.lose(1, broken);
  EXPECT_EQ(places.node_for(second), 0u);
  EXPECT_EQ(places.node_for(third), 2u) << "w0 is full now";
  EXPECT_EQ(places.node_for(second), 0u) << "and stays";
  EXPECT_EQ(places.node_for(first), 0u);
  EXPECT_TRUE(places.is_lost(1));
  EXPECT_FALSE(places.is_lost(2));
}

TEST(stage_placement, without_a_slot_the_cause_of_the_loss_is_told) {
  stage_placement places({{"w0", 1}, {"w1", 1}}, {{first, 0}, {second, 1}}, false);
  places.lose(1, broken);
  places.lose(1, {error_code::node_lost, "", "a later cause", ""});
  const auto nowhere = places.node_for(second);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, error_code::node_lost);
  EXPECT_THAT(to_string(nowhere.error()), HasSubstr("node w1"));
  EXPECT_THAT(to_string(nowhere.error()), HasSubstr("silent for 10 s"));
  EXPECT_EQ(places.node_for(first), 0u);
}

TEST(stage_placement, a_run_that_may_shrink_takes_the_least_loaded_node) {
  stage_placement places({{"w0", 1}, {"w1", 1}, {"w2", 4}},
                         {{first, 0}, {second, 1}, {{4, 0}, 2}, {{5, 0}, 2}, {{6, 0}, 2}, {{7, 0}, 2}}, true);
  places.lose(1, broken);
  EXPECT_EQ(places.node_for(second), 0u) << "one stage per slot everywhere: the first node";
  places.lose(0, broken);
  EXPECT_EQ(places.node_for(first), 2u);
  EXPECT_EQ(places.node_for(second), 2u);
  places.lose(2, broken);
  EXPECT_FALSE(places.node_for(first));
}

TEST(stage_placement, has_room_while_the_slots_that_are_left_suffice_or_it_may_shrink) {
  const std::map<stage_address, std::size_t> first_places{{first, 0}, {second, 1}};
  stage_placement places({{"w0", 1}, {"w1", 1}, {"w2", 1}}, first_places, false);
  EXPECT_TRUE(places.has_room());
  places.lose(1, broken);
  EXPECT_TRUE(places.has_room());
  places.lose(2, broken);
  EXPECT_FALSE(places.has_room());
  stage_placement shrinks({{"w0", 1}, {"w1", 1}}, first_places, true);
  shrinks.lose(1, broken);
  EXPECT_TRUE(shrinks.has_room());
  shrinks.lose(0, broken);
  EXPECT_FALSE(shrinks.has_room());
}

TEST(stage_placement, moves_on_when_the_second_node_is_lost_too) {
  stage_placement places({{"w0", 1}, {"w1", 1}, {"w2", 1}}, {{first, 0}}, false);
  places.lose(0, broken);
  EXPECT_EQ(places.node_for(first), 1u);
  places.lose(1, broken);
  EXPECT_EQ(places.node_for(first), 2u);
  places.lose(2, broken);
  EXPECT_FALSE(places.node_for(first));
}

}  // namespace
}  // namespace troupe::testing
