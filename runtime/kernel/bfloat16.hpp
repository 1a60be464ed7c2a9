#pragma once

#include <bit>
#include <cstdint>

namespace troupe {

/// The upper half of a float32.
struct bfloat16 {
  std::uint16_t bits = 0;

  friend bool operator==(const bfloat16&, const bfloat16&) = default;
};

/// Exact.
inline float widened(bfloat16 number) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number.bits) << 16U);
}

/// To the nearest, of two equally near ones to the one whose last bit is 0. NaN gives the quiet NaN 0x7fc0.
inline bfloat16 rounded_to_bfloat16(float number) {
  if (number != number) return {0x7fc0};
  const auto bits = std::bit_cast<std::uint32_t>(number);
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
}

}  // namespace troupe
