// Goal: ranks take slots in order, spare slots are the rest, and traffic between nodes is counted by pairs. Method:
// placements by hand, and random ones against a walk over all slots.
#include "runtime/launch/placement.hpp"

#include <random>

#include <gmock/gmock.h>

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<node_slots> three_nodes = {{"w0", {0, 2}}, {"w1", {5}}, {"w2", {0, 1, 2}}};

TEST(placement, gives_slots_to_ranks_in_order_and_the_rest_to_spares) {
  const auto placed = place_ranks(4, three_nodes);
  ASSERT_TRUE(placed);
  EXPECT_THAT(placed->ranks, ElementsAre(slot_place{0, 0}, slot_place{0, 2}, slot_place{1, 5}, slot_place{2, 0}));
  EXPECT_THAT(placed->spares, ElementsAre(slot_place{2, 1}, slot_place{2, 2}));
  EXPECT_THAT(place_ranks(6, three_nodes)->spares, IsEmpty());
}

TEST(placement, refuses_more_ranks_than_slots) {
  const auto refused = place_ranks(7, three_nodes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::value_out_of_range);
  EXPECT_THAT(refused.error().cause, HasSubstr("7 stage replicas, and 6 slots"));
  EXPECT_FALSE(place_ranks(1, {}));
}

TEST(placement, keeps_every_slot_once_and_ranks_of_a_node_together) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<node_slots> nodes(1 + random() % 6);
    std::vector<slot_place> all;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
      for (std::uint32_t slot = below(3); slot < 8; slot += 1 + below(4)) {
        nodes[node].slots.push_back(slot);
        all.push_back({node, slot});
      }
    }
    const std::uint64_t ranks = random() % (all.size() + 1);
    const auto placed = place_ranks(ranks, nodes);
    ASSERT_TRUE(placed);
    EXPECT_EQ(placed->ranks.size(), ranks);
    std::vector<slot_place> given = placed->ranks;
    given.insert(given.end(), placed->spares.begin(), placed->spares.end());
    EXPECT_EQ(given, all);
  }
}

TEST(crossing_share, is_that_of_the_pairs_on_different_nodes) {
  const auto placed = place_ranks(6, three_nodes);  // nodes 0 0 1 2 2 2
  ASSERT_TRUE(placed);
  const auto share = [&](std::vector<std::uint64_t> from, std::vector<std::uint64_t> to) {
    return crossing_share(*placed, from, to);
  };
  EXPECT_EQ(share({0}, {1}), 0.0);
  EXPECT_EQ(share({0, 1}, {2, 3}), 1.0);
  EXPECT_EQ(share({0, 2}, {1, 3}), 0.75);
  EXPECT_EQ(share({3}, {2, 4, 5, 0}), 0.5);
}

}  // namespace
}  // namespace troupe::testing
