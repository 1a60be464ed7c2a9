// Goal: ranks, coordinates, groups and names as in the published vectors. Method: the vectors, then properties over
// random shapes checked by plain nested counting.
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/process_topology.hpp>

namespace troupe {
namespace {

using lists = std::vector<std::vector<rank_number>>;
using ranks = std::vector<rank_number>;

TEST(process_topology, two_by_two_by_two) {
  const auto t = *pipe_model_data_parallel_topology(2, 2, 2);
  EXPECT_EQ(t.world_size(), 8u);
  EXPECT_EQ(*t.comm_lists("pipe"), (lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(*t.comm_lists("data"), (lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(*t.comm_lists("model"), (lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(*t.filter(std::vector<axis_value>{{"pipe", 0}, {"data", 1}}), (ranks{2, 3}));
  EXPECT_EQ(*t.rank_name(5), "model_01");
  EXPECT_EQ(*t.rank_name(4), "model_00");
}

TEST(process_topology, four_stages_two_replicas) {
  const auto t = *pipe_data_parallel_topology(4, 2);
  EXPECT_EQ(*t.comm_lists("pipe"), (lists{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(*t.comm_lists("data"), (lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(*t.rank_name(5), "");
  const std::vector<std::string_view> nothing_omitted;
  EXPECT_EQ(*t.rank_name(5, nothing_omitted), "pipe_02-data_01");
}

TEST(process_topology, sides_of_unequal_size) {
  const auto t = *process_topology::make({{"pipe", 2}, {"data", 3}, {"model", 120}});
  EXPECT_EQ(t.dimension("model"), 120u);
  EXPECT_EQ(t.dimension("expert"), 0u);
  EXPECT_EQ(*t.rank_name(719), "model_119");
  EXPECT_EQ(*t.coordinate(719, "data"), 2u);
  EXPECT_EQ(*t.rank(std::vector<std::uint64_t>{1, 2, 119}), 719u);
}

TEST(process_topology, properties_of_random_shapes) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<topology_axis> axes;
    const std::size_t count = 1 + random() % 4;
    for (std::size_t a = 0; a < count; ++a)
      axes.push_back({std::string(1, static_cast<char>('a' + a)), 1 + random() % 5});
    const auto t = *process_topology::make(axes);
    std::vector<std::uint64_t> odometer(count, 0);  // counts up as row-major order does
    for (rank_number r = 0; r < t.world_size(); ++r) {
      ASSERT_EQ(*t.coordinates(r), odometer);
      ASSERT_EQ(*t.rank(odometer), r);
      std::vector<axis_value> all;
      for (std::size_t a = 0; a < count; ++a) all.push_back({axes[a].name, odometer[a]});
      ASSERT_EQ(*t.filter(all), ranks{r});
      for (std::size_t a = count; a-- > 0 && ++odometer[a] == axes[a].size;) odometer[a] = 0;
    }
    for (std::size_t a = 0; a < count; ++a) {
      std::set<rank_number> seen;
      const lists groups = *t.comm_lists(axes[a].name);
      for (const auto& list : groups) {
        ASSERT_EQ(list.size(), axes[a].size);
        for (std::size_t i = 0; i < list.size(); ++i) {
          ASSERT_TRUE(seen.insert(list[i]).second);
          auto where = *t.coordinates(list[i]);
          ASSERT_EQ(where[a], i);
          where[a] = 0;
          ASSERT_EQ(*t.rank(where), list.front());
        }
      }
      ASSERT_EQ(seen.size(), t.world_size());
    }
    ASSERT_EQ(t.filter({})->size(), t.world_size());
  }
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
  const auto t = *pipe_data_parallel_topology(4, 2);
  EXPECT_EQ(t.coordinates(8).error().code, error_code::value_out_of_range);
  EXPECT_EQ(t.rank_name(8).error().code, error_code::value_out_of_range);
  EXPECT_EQ(t.rank(std::vector<std::uint64_t>{4, 0}).error().code, error_code::value_out_of_range);
  EXPECT_EQ(t.rank(std::vector<std::uint64_t>{1}).error().code, error_code::value_out_of_range);
  EXPECT_EQ(t.comm_lists("model").error().code, error_code::unknown_name);
  EXPECT_THAT(t.comm_lists("model").error().fix, testing::HasSubstr("pipe, data"));
  EXPECT_EQ(t.filter(std::vector<axis_value>{{"data", 2}}).error().code, error_code::value_out_of_range);
}

}  // namespace
}  // namespace troupe
