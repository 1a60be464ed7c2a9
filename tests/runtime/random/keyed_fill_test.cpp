#include "runtime/random/keyed_fill.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

constexpr std::size_t many = 1'000'000;

TEST(keyed_fill, dropout_drops_its_share) {
  for (const double probability : {0.1, 0.5, 0.9}) {
    std::vector<float> mask(many);
    fill_dropout_mask(mask, probability, {.seed = 4, .step = 5, .sample = 6});
    const auto dropped = static_cast<double>(std::ranges::count(mask, 0.0F));
    EXPECT_NEAR(dropped / many, probability, 5 * std::sqrt(probability * (1 - probability) / many));
    const auto kept = static_cast<float>(1 / (1 - probability));
    EXPECT_EQ(static_cast<double>(std::ranges::count(mask, kept)), many - dropped);
  }
  std::vector<float> mask(99);
  fill_dropout_mask(mask, 0, {});
  EXPECT_THAT(mask, ::testing::Each(1.0F));
  fill_dropout_mask(mask, 1, {});
  EXPECT_THAT(mask, ::testing::Each(0.0F));
}

TEST(keyed_fill, a_longer_row_begins_as_a_shorter_one) {
  for (const std::size_t count : {1, 2, 3, 5, 99}) {
    std::vector<float> some(count);
    std::vector<float> more(count + 7);
    fill_dropout_mask(some, 0.5, {.seed = 5});
    fill_dropout_mask(more, 0.5, {.seed = 5});
    EXPECT_TRUE(std::equal(some.begin(), some.end(), more.begin()));
  }
}

}  // namespace
}  // namespace troupe
