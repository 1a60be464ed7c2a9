// Goal: uniform and balanced equal the published vectors. Method: the vectors, through the same strings a user types.
#include <gtest/gtest.h>

#include "runtime/partition/weights.hpp"

namespace troupe {
namespace {

using list = part_boundaries;

std::string plan(std::string_view weights, std::size_t parts, std::string_view method) {
  return *partition_weights(*parse_partition_method(method), *parse_weights(weights), parts).map(boundaries_json);
}

TEST(uniform_vectors, all) {
  EXPECT_EQ(partition_uniform(9, 2), (list{0, 5, 9}));
  EXPECT_EQ(partition_uniform(10, 3), (list{0, 4, 7, 10}));
  EXPECT_EQ(partition_uniform(10, 4), (list{0, 3, 6, 8, 10}));
  EXPECT_EQ(partition_uniform(11, 4), (list{0, 3, 6, 9, 11}));
  EXPECT_EQ(partition_uniform(2, 4), (list{0, 1, 2, 2, 2}));
  EXPECT_EQ(partition_uniform(27, 8), (list{0, 4, 8, 12, 15, 18, 21, 24, 27}));
}

TEST(balanced_vectors, all) {
  EXPECT_EQ(plan("0,1,2,3,3,3", 4, "balanced"), R"({"boundaries":[0,3,4,5,6]})");
  EXPECT_EQ(plan("0,1.1,30,3", 3, "balanced"), R"({"boundaries":[0,2,3,4]})");
  EXPECT_EQ(plan("1,1,1,1,1", 4, "balanced"), R"({"boundaries":[0,2,3,4,5]})");
  EXPECT_EQ(plan("1,2,1", 4, "balanced"), R"({"boundaries":[0,1,2,3,3]})");
  EXPECT_EQ(plan("1,1,1,1,1,1,1,1,1,1", 3, "balanced"), R"({"boundaries":[0,4,7,10]})");
  EXPECT_EQ(plan("0,0,0,1,1,1,1,0,0,0,0", 4, "balanced"), R"({"boundaries":[0,4,5,6,11]})");
  EXPECT_EQ(plan("0,1,0,1,0,1,0,1", 2, "balanced"), R"({"boundaries":[0,5,8]})");
}

TEST(weights_by_other_methods, as_stated) {
  EXPECT_EQ(plan("1,2,1", 4, "uniform"), R"({"boundaries":[0,1,2,3,3]})");
  EXPECT_EQ(plan("5,1,1,1", 2, "profile"), R"({"boundaries":[0,1,4]})");
  EXPECT_EQ(plan("5,1,1,1", 2, "0,3,4"), R"({"boundaries":[0,3,4]})");
}

}  // namespace
}  // namespace troupe
