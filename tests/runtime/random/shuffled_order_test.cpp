#include "runtime/random/shuffled_order.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/random/chi_square.hpp"

namespace troupe {
namespace {

std::vector<std::uint64_t> all_of(const shuffled_order& order, std::uint64_t count) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t position = 0; position < count; ++position) samples.push_back(order.sample_at(position));
  return samples;
}

TEST(shuffled_order, has_each_sample_once_and_an_inverse) {
  for (std::uint64_t count = 1; count <= 300; ++count) {
    const shuffled_order order(7, 3, count);
    std::vector<std::uint64_t> samples = all_of(order, count);
    for (std::uint64_t position = 0; position < count; ++position) {
      ASSERT_EQ(order.position_of(samples[position]), position);
    }
    std::ranges::sort(samples);
    for (std::uint64_t each = 0; each < count; ++each) ASSERT_EQ(samples[each], each);
  }
}

TEST(shuffled_order, takes_no_memory_of_its_count) {
  const std::uint64_t count = 3'000'000'000'000;
  const shuffled_order order(1, 0, count);
  for (const std::uint64_t position : {std::uint64_t{0}, count / 2, count - 1}) {
    EXPECT_LT(order.sample_at(position), count);
    EXPECT_EQ(order.position_of(order.sample_at(position)), position);
  }
}

TEST(shuffled_order, seed_and_epoch_change_it) {
  const std::uint64_t count = 1000;
  const auto one = all_of(shuffled_order(1, 1, count), count);
  EXPECT_EQ(one, all_of(shuffled_order(1, 1, count), count));
  for (const auto& other : {shuffled_order(2, 1, count), shuffled_order(1, 2, count)}) {
    const auto samples = all_of(other, count);
    int same = 0;
    for (std::size_t i = 0; i < count; ++i) same += samples[i] == one[i] ? 1 : 0;
    EXPECT_LT(same, 10) << "one is to be expected";
  }
}

TEST(shuffled_order, all_orders_of_few_samples_are_equally_likely) {
  for (const std::uint64_t count : {2, 3, 4, 5}) {
    std::map<std::vector<std::uint64_t>, double> found;
    std::size_t orders = 1;
    for (std::uint64_t i = 2; i <= count; ++i) orders *= i;
    const std::uint64_t draws = 400 * orders;
    for (std::uint64_t epoch = 0; epoch < draws; ++epoch) ++found[all_of(shuffled_order(50, epoch, count), count)];
    ASSERT_EQ(found.size(), orders);
    std::vector<double> counts;
    counts.reserve(orders);
    for (const auto& [order, times] : found) counts.push_back(times);
    EXPECT_LT(std::abs(testing::chi_square_deviation(counts, 400)), 4) << count << " samples";
  }
}

TEST(shuffled_order, each_sample_is_equally_likely_at_each_position) {
  const std::uint64_t count = 30;
  std::vector<double> places(count * count);
  std::vector<double> neighbours(count * count);
  const std::uint64_t draws = 12000;
  for (std::uint64_t epoch = 0; epoch < draws; ++epoch) {
    const auto samples = all_of(shuffled_order(51, epoch, count), count);
    for (std::size_t at = 0; at < count; ++at) ++places[at * count + samples[at]];
    for (std::size_t at = 1; at < count; ++at) ++neighbours[samples[at - 1] * count + samples[at]];
  }
  // each row has a fixed sum, which takes some freedom away: a little below the mean is right
  const double shown = testing::chi_square_deviation(places, static_cast<double>(draws) / count);
  EXPECT_TRUE(shown > -6 && shown < 4) << shown;
  std::erase(neighbours, 0);
  ASSERT_EQ(neighbours.size(), count * (count - 1));
  const double pairs = testing::chi_square_deviation(neighbours, static_cast<double>(draws) / count);
  EXPECT_TRUE(pairs > -6 && pairs < 4) << pairs;
}

}  // namespace
}  // namespace troupe
