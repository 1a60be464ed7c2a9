// Goal: each output is one chain of fused multiply-adds over the inputs in ascending order, also for NaN, infinities,
// denormals and zeros. Method: plain loops with std::fma in that order and in others, and sums that only that order
// gives.
#include <limits>

#include <gtest/gtest.h>

#include "tests/runtime/kernel/linear_case.hpp"

namespace troupe {
namespace {

using testing::bits_of;
using testing::linear_case;
using testing::name_of;

/// The same layer with its inputs from the last to the first.
linear_case turned_round(linear_case all) {
  for (std::int64_t m = 0; m < all.rows; ++m) {
    std::reverse(all.x.begin() + m * all.inputs, all.x.begin() + (m + 1) * all.inputs);
  }
  for (std::int64_t n = 0; n < all.outputs; ++n) {
    std::reverse(all.weights.begin() + n * all.inputs, all.weights.begin() + (n + 1) * all.inputs);
  }
  return all;
}

// What the other tests compare with would differ if the kernel summed in another way.
TEST(packed_linear_order, is_seen_in_the_bits) {
  const linear_case all = linear_case::random(4, 64, 16);
  const auto y = bits_of(all.run({}));
  EXPECT_EQ(y, bits_of(all.chains()));
  EXPECT_NE(y, bits_of(turned_round(all).chains())) << "another order of the inputs";
  EXPECT_NE(y, bits_of(all.by_loop<float>(false,
                                          [](float sum, float a, float w) {
                                            volatile float product = a * w;
                                            return sum + product;
                                          })))
      << "a product that is rounded";
  linear_case without_bias = all;
  std::ranges::fill(without_bias.bias, 0.0F);
  std::vector<float> bias_last = without_bias.chains();
  for (std::size_t i = 0; i < bias_last.size(); ++i) bias_last[i] += all.bias[i % 16];
  EXPECT_NE(y, bits_of(bias_last)) << "the bias added at the end";
}

TEST(packed_linear_order, is_kept_over_ranges_of_inputs) {
  // Only the chain from the first input to the last one gives 1: a large number takes the small ones before it away.
  linear_case all{9, 1000, 17, std::vector<float>(9000, 1), std::vector<float>(17000, 0), std::vector<float>(17, 3)};
  for (std::size_t n = 0; n < 17; ++n) {
    all.weights[n * 1000 + 10] = 1e30F;
    all.weights[n * 1000 + 700] = -1e30F;
    all.weights[n * 1000 + 999] = 1;
  }
  for (const vector_width width : usable_vector_widths()) {
    EXPECT_EQ(all.run({.width = width}), std::vector<float>(9 * 17, 1.0F)) << name_of(width);
  }
}

TEST(packed_linear_order, keeps_what_is_not_finite_in_its_row) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  linear_case all = linear_case::random(12, 40, 35);
  const auto before = bits_of(all.chains());
  all.x[3 * 40 + 7] = std::numeric_limits<float>::quiet_NaN();
  all.x[5 * 40] = infinity;
  all.x[7 * 40] = infinity;
  all.x[7 * 40 + 39] = -infinity;
  all.x[9 * 40 + 1] = std::bit_cast<float>(0xffc12345U);
  for (const bool has_relu : {false, true}) {
    const auto expected = bits_of(all.chains(has_relu), true);
    EXPECT_EQ(std::equal(before.begin(), before.begin() + 3 * 35, expected.begin()), !has_relu);
    for (const vector_width width : usable_vector_widths()) {
      const std::vector<float> y = all.run({.has_relu = has_relu, .width = width});
      EXPECT_EQ(bits_of(y), expected) << name_of(width);
      EXPECT_TRUE(std::isnan(y[3 * 35])) << "relu keeps NaN";
    }
  }
}

TEST(packed_linear_order, keeps_denormals_and_the_sign_of_zero) {
  linear_case all = linear_case::random(7, 33, 18);
  for (float& number : all.x) number *= 1e-25F;
  for (float& number : all.weights) number *= 1e-17F;
  for (float& number : all.bias) number = -0.0F;
  // rows of zeros: their chains stay at the bias, -0, where the products are negative
  std::fill(all.x.begin(), all.x.begin() + 33, -0.0F);
  for (std::size_t k = 0; k < 33; ++k) all.weights[k] = std::abs(all.weights[k]);
  for (const bool has_relu : {false, true}) {
    const std::vector<float> expected = all.chains(has_relu);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(expected[0]), 0x80000000U);
    EXPECT_TRUE(std::ranges::any_of(expected, [](float number) { return std::fpclassify(number) == FP_SUBNORMAL; }));
    for (const vector_width width : usable_vector_widths()) {
      EXPECT_EQ(bits_of(all.run({.has_relu = has_relu, .width = width})), bits_of(expected)) << name_of(width);
    }
  }
}

}  // namespace
}  // namespace troupe
