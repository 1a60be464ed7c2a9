#include "runtime/ledger/step_layout.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(step_layout, gives_each_leaf_one_index_and_each_replica_a_block) {
  for (std::uint64_t leaves = 1; leaves <= 70; ++leaves) {
    for (const std::uint64_t replicas : {1, 2, 4, 8, 16}) {
      const step_layout layout{.leaves = leaves, .replicas = replicas};
      EXPECT_GE(layout.block() * replicas, leaves);
      EXPECT_TRUE(layout.block() == 1 || layout.block() / 2 * replicas < leaves) << "the least";
      std::set<std::uint64_t> found;
      for (std::uint64_t index = 0; index < layout.indices(); ++index) {
        const auto leaf = layout.leaf_of(index);
        if (!leaf) continue;
        EXPECT_EQ(*leaf / layout.block(), index % replicas) << "the block of the replica that has the index";
        EXPECT_EQ(layout.index_of(*leaf), index);
        found.insert(*leaf);
      }
      EXPECT_EQ(found.size(), leaves);
      EXPECT_EQ(*found.rbegin(), leaves - 1);
      EXPECT_TRUE(layout.leaf_of(layout.indices() - 1)) << "the last index is not empty";
      EXPECT_FALSE(layout.leaf_of(layout.indices()));
    }
  }
}

TEST(step_layout, six_leaves_on_four_replicas) {
  const step_layout layout{.leaves = 6, .replicas = 4};
  std::vector<std::optional<std::uint64_t>> leaves;
  for (std::uint64_t index = 0; index < layout.indices(); ++index) leaves.push_back(layout.leaf_of(index));
  EXPECT_THAT(leaves, ::testing::ElementsAre(0, 2, 4, std::nullopt, 1, 3, 5));
}

}  // namespace
}  // namespace troupe
