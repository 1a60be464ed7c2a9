// Goal: each worker of a node has a slot of its own, and its variables say which. Method: numbers worked out by hand.
#include "runtime/local_host/local_ranks.hpp"

#include <gmock/gmock.h>

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(local_ranks, the_lowest_free_slot_is_taken_first) {
  local_ranks slots({.slots = 3, .first_rank = 0, .world_size = 3});
  EXPECT_EQ(slots.take(), 0u);
  EXPECT_EQ(slots.take(), 1u);
  EXPECT_EQ(slots.take(), 2u);
  slots.release(1);
  EXPECT_EQ(slots.take(), 1u);
}

TEST(local_ranks, the_variables_are_those_of_torchrun) {
  // nodes with 2, 3 and 2 slots: this is the second
  const local_ranks slots({.slots = 3, .first_rank = 2, .world_size = 7});
  EXPECT_THAT(slots.variables_of(1), ElementsAre(Pair("RANK", "3"), Pair("LOCAL_RANK", "1"),
                                                 Pair("LOCAL_WORLD_SIZE", "3"), Pair("WORLD_SIZE", "7")));
}

TEST(local_ranks, spares_are_numbered_behind_all_slots) {
  const local_ranks first({.slots = 2, .first_rank = 0, .world_size = 7});
  const local_ranks second({.slots = 3, .first_rank = 2, .world_size = 7});
  EXPECT_EQ(first.variables_of(2)[0].second, "7");
  EXPECT_EQ(second.variables_of(3)[0].second, "9");
  EXPECT_EQ(second.variables_of(3)[1].second, "3");
}

}  // namespace
}  // namespace troupe::testing
