#include "runtime/random/keyed_fill.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/random/chi_square.hpp"

namespace troupe {
namespace {

constexpr std::size_t many = 1'000'000;

struct moments {
  double mean = 0;
  double variance = 0;
  double fourth = 0;  ///< of the deviations, over the square of the variance
};

moments moments_of(const std::vector<float>& values) {
  moments made;
  const auto count = static_cast<double>(values.size());
  for (const float each : values) made.mean += each / count;
  for (const float each : values) made.variance += std::pow(each - made.mean, 2) / count;
  for (const float each : values) made.fourth += std::pow(each - made.mean, 4) / count;
  made.fourth /= made.variance * made.variance;
  return made;
}

/// For numbers that are to be spread evenly from 0 to 1.
double unevenness(const std::vector<double>& shares) {
  constexpr std::size_t classes = 1000;
  std::vector<double> found(classes);
  for (const double each : shares) ++found[std::min(classes - 1, static_cast<std::size_t>(each * classes))];
  return testing::chi_square_deviation(found, static_cast<double>(shares.size()) / classes);
}

TEST(keyed_fill, uniform_numbers) {
  std::vector<float> values(many);
  fill_uniform(values, -1, 3, {.seed = 1, .layer = number_of_name("weight")});
  const moments found = moments_of(values);
  EXPECT_NEAR(found.mean, 1, 5 * std::sqrt(16.0 / 12 / many));
  EXPECT_NEAR(found.variance, 16.0 / 12, 5 * 16 * std::sqrt(1.0 / 180 / many));
  EXPECT_GE(*std::ranges::min_element(values), -1);
  EXPECT_LT(*std::ranges::max_element(values), 3);
  std::vector<double> shares;
  shares.reserve(many);
  for (const float each : values) shares.push_back((each + 1) / 4);
  EXPECT_LT(std::abs(unevenness(shares)), 4);
}

TEST(keyed_fill, normal_numbers) {
  std::vector<float> values(many);
  fill_normal(values, 2, 0.5, {.seed = 2, .layer = number_of_name("weight")});
  const moments found = moments_of(values);
  EXPECT_NEAR(found.mean, 2, 5 * 0.5 / std::sqrt(many));
  EXPECT_NEAR(found.variance, 0.25, 5 * 0.25 * std::sqrt(2.0 / many));
  EXPECT_NEAR(found.fourth, 3, 5 * std::sqrt(24.0 / many));
  std::vector<double> shares;
  shares.reserve(many);
  for (const float each : values) shares.push_back(std::erfc(-(each - 2) / 0.5 / std::sqrt(2)) / 2);
  EXPECT_LT(std::abs(unevenness(shares)), 4);
  double product = 0;
  for (std::size_t i = 0; i + 1 < many; i += 2) product += (values[i] - 2) * (values[i + 1] - 2) / (0.25 * many / 2);
  EXPECT_NEAR(product, 0, 5 / std::sqrt(many / 2)) << "the two of a pair have nothing to do with each other";
}

TEST(keyed_fill, normal_numbers_are_those_of_the_libraries_functions) {
  const random_key key{.seed = 3};
  std::vector<float> values(4000);
  fill_normal(values, 0, 1, key);
  const keyed_numbers draw(key);
  for (std::uint32_t index = 0; index < values.size() / 4; ++index) {
    const auto bits = draw.block(index);
    const std::size_t at = std::size_t{4} * index;
    for (const std::size_t pair : {0, 2}) {
      const double radius = std::sqrt(-2 * std::log((bits[pair] + 1.0) * 0x1.0p-32));
      const double angle = 2 * 3.14159265358979323846 * bits[pair + 1] * 0x1.0p-32;
      EXPECT_NEAR(values[at + pair], radius * std::cos(angle), 5e-7);
      EXPECT_NEAR(values[at + pair + 1], radius * std::sin(angle), 5e-7);
    }
  }
}

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

TEST(keyed_fill, a_longer_array_begins_as_a_shorter_one) {
  for (const std::size_t count : {1, 2, 3, 5, 99}) {
    std::vector<float> some(count);
    std::vector<float> more(count + 7);
    fill_normal(some, 0, 1, {.seed = 5});
    fill_normal(more, 0, 1, {.seed = 5});
    EXPECT_TRUE(std::equal(some.begin(), some.end(), more.begin()));
    fill_uniform(some, 0, 1, {.seed = 5});
    fill_uniform(more, 0, 1, {.seed = 5});
    EXPECT_TRUE(std::equal(some.begin(), some.end(), more.begin()));
  }
}

}  // namespace
}  // namespace troupe
