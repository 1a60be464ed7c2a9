#pragma once

#include <cstring>

#include "runtime/image/sample_weights.hpp"
#include "runtime/image/weigh.hpp"

/// Compiled once for each kind of processor: in vectors of 8 numbers, which the compiler cuts where there are smaller
/// ones.
namespace troupe {
namespace {

using eight_numbers = std::int32_t __attribute__((vector_size(32)));
using eight_bytes = std::uint8_t __attribute__((vector_size(8)));

inline eight_numbers load_eight(const std::uint8_t* from) {
  eight_bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, eight_numbers);
}

constexpr std::int32_t half = 1 << (weight_bits - 1);

/// Comparisons give -1 or 0.
inline eight_bytes to_bytes(eight_numbers sums) {
  eight_numbers values = sums >> weight_bits;
  values &= values > 0;
  const eight_numbers is_over = values > 255;
  values = (values & ~is_over) | (is_over & 255);
  return __builtin_convertvector(values, eight_bytes);
}

inline void weigh_across(const std::uint8_t* row, const std::uint32_t* first, const std::int32_t* weights,
                         std::size_t most, std::size_t count, std::uint8_t* out) {
  constexpr std::size_t pixel = 4;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* pixels = row + first[i] * pixel;
    const std::int32_t* mine = weights + i * most;
    // Two pixels at a time: the one half has the even ones, the other the odd ones.
    eight_numbers sums{half, half, half, half, 0, 0, 0, 0};
    for (std::size_t k = 0; k < most; k += 2) {
      const std::int32_t a = mine[k];
      const std::int32_t b = mine[k + 1];
      sums += load_eight(pixels + k * pixel) * eight_numbers{a, a, a, a, b, b, b, b};
    }
    const eight_numbers turned{sums[4], sums[5], sums[6], sums[7], 0, 0, 0, 0};
    const eight_bytes bytes = to_bytes(sums + turned);
    std::memcpy(out + i * pixel, &bytes, pixel);
  }
}

inline void weigh_down(const std::uint8_t* const* rows, const std::int32_t* weights, std::size_t count,
                       std::size_t bytes, std::uint8_t* out) {
  constexpr std::size_t vector = 8;
  constexpr std::size_t at_once = 4 * vector;
  for (std::size_t at = 0; at < bytes; at += at_once) {
    eight_numbers sums[4];
    for (eight_numbers& each : sums) each = eight_numbers{} + half;
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint8_t* from = rows[k] + at;
      for (std::size_t part = 0; part < 4; ++part) sums[part] += load_eight(from + part * vector) * weights[k];
    }
    for (std::size_t part = 0; part < 4; ++part) {
      const eight_bytes made = to_bytes(sums[part]);
      std::memcpy(out + at + part * vector, &made, vector);
    }
  }
}

}  // namespace
}  // namespace troupe
