// Goal: a topology of processes has the axes that it was made of, in order, and refuses what has no ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/process_topology.hpp>

namespace troupe {
namespace {

using ::testing::ElementsAre;

TEST(process_topology, has_its_axes_in_order) {
  EXPECT_THAT(pipe_data_parallel_topology(4, 2)->axes(),
              ElementsAre(topology_axis{"pipe", 4}, topology_axis{"data", 2}));
  EXPECT_THAT(pipe_model_data_parallel_topology(2, 3, 4)->axes(),
              ElementsAre(topology_axis{"pipe", 2}, topology_axis{"data", 4}, topology_axis{"model", 3}));
}

TEST(process_topology, refuses) {
  const auto make = [](std::vector<topology_axis> axes) {
    return process_topology::make(std::move(axes)).error().code;
  };
  EXPECT_EQ(make({}), error_code::topology_invalid);
  EXPECT_EQ(make({{"pipe", 0}}), error_code::topology_invalid);
  EXPECT_EQ(make({{"", 2}}), error_code::topology_invalid);
  EXPECT_EQ(make({{"pipe", 2}, {"pipe", 2}}), error_code::topology_duplicate_name);
  EXPECT_EQ(make({{"a", 1ull << 40}, {"b", 1ull << 40}}), error_code::topology_invalid);
}

}  // namespace
}  // namespace troupe
