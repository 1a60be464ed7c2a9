// Goal: weights of any strides are packed into the panels that the header describes; bfloat16 rounds to the nearest.
// Method: panels read element by element.
#include "runtime/kernel/packed_weights.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "tests/runtime/kernel/linear_case.hpp"

namespace troupe {
namespace {

using testing::linear_case;

TEST(packed_weights, lie_in_aligned_panels_of_sixteen_outputs) {
  const linear_case all = linear_case::random(0, 5, 18);
  const packed_weights packed = all.packed();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packed.panels()) % 64, 0U);
  EXPECT_EQ(packed.bytes(), 4 * (32 * 5 + 32));
  const auto* panels = static_cast<const float*>(packed.panels());
  for (std::size_t n = 0; n < 32; ++n) {
    EXPECT_EQ(packed.bias()[n], n < 18 ? all.bias[n] : 0);
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_EQ(panels[n / 16 * 16 * 5 + k * 16 + n % 16], n < 18 ? all.weights[n * 5 + k] : 0);
    }
  }
}

TEST(packed_weights, are_shared_by_copies) {
  const packed_weights packed = linear_case::random(0, 5, 18).packed();
  const packed_weights copy = packed;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.panels(), packed.panels());
}

TEST(packed_weights, come_from_any_strides) {
  const linear_case all = linear_case::random(3, 6, 20);
  std::vector<float> transposed(20 * 6);
  for (std::size_t n = 0; n < 20; ++n) {
    for (std::size_t k = 0; k < 6; ++k) transposed[k * 20 + n] = all.weights[n * 6 + k];
  }
  const std::vector<float> spread_bias = [&] {
    std::vector<float> spread(40);
    for (std::size_t n = 0; n < 20; ++n) spread[2 * n] = all.bias[n];
    return spread;
  }();
  const packed_weights packed(weight_matrix<float>{transposed.data(), 20, 6, 1, 20}, spread_bias.data(), 2);
  std::vector<float> y(3 * 20);
  packed_linear<float>(packed, 3, {all.x.data(), 6}, {y.data(), 20}, {});
  EXPECT_EQ(y, all.chains());
}

TEST(packed_weights, have_zeros_for_a_bias_that_is_missing) {
  linear_case all = linear_case::random(3, 6, 20);
  const packed_weights packed(weight_matrix<float>{all.weights.data(), 20, 6, 6, 1}, nullptr);
  std::ranges::fill(all.bias, 0.0F);
  std::vector<float> y(3 * 20);
  packed_linear<float>(packed, 3, {all.x.data(), 6}, {y.data(), 20}, {});
  EXPECT_EQ(y, all.chains());
}

TEST(packed_weights, check_sizes_that_no_memory_has) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_DEATH(packed_weights(weight_matrix<float>{nullptr, huge, huge, 1, 1}, nullptr), "weights of that number");
  EXPECT_DEATH(
      packed_weights(weight_matrix<float>{nullptr, std::numeric_limits<std::int64_t>::max(), 0, 1, 1}, nullptr),
      "a bias of that length");
  EXPECT_DEATH(packed_weights(weight_matrix<float>{nullptr, -1, 3, 1, 1}, nullptr), "no negative size");
}

TEST(bfloat16, rounds_to_the_nearest_even) {
  const auto rounded = [](std::uint32_t bits) { return rounded_to_bfloat16(std::bit_cast<float>(bits)).bits; };
  EXPECT_EQ(rounded(0x3f800000), 0x3f80);
  EXPECT_EQ(rounded(0x3f808000), 0x3f80) << "a tie, to even";
  EXPECT_EQ(rounded(0x3f818000), 0x3f82) << "a tie, to even";
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0xbf808001), 0xbf81);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f80) << "above the greatest is infinite";
  EXPECT_EQ(rounded(0x00000001), 0x0000);
  EXPECT_EQ(rounded(0x80000000), 0x8000);
  EXPECT_EQ(rounded(0x7f800001), 0x7fc0) << "NaN does not become infinite";
  EXPECT_EQ(rounded(0xffffffff), 0x7fc0);
  EXPECT_EQ(widened({0xc049}), -3.140625F);
}

TEST(vector_widths, begin_with_the_portable_one) {
  EXPECT_EQ(usable_vector_widths().front(), vector_width::portable);
  EXPECT_EQ(usable_vector_widths().back(), widest_vector_width());
}

}  // namespace
}  // namespace troupe
