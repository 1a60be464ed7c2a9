#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe {

/// The two sums of a resampling, of 8-bit pixels of four bytes with weights of weight_bits. Every version gives the
/// same bytes: round(sum) within 0 to 255.
struct weigh_functions {
  /// `count` new pixels of a row: pixel i is the sum of `most` pixels from first[i] on, with weights i * most ....
  /// `most` is even. The row has room behind its end for `most` pixels.
  void (*across)(const std::uint8_t* row, const std::uint32_t* first, const std::int32_t* weights, std::size_t most,
                 std::size_t count, std::uint8_t* out);
  /// A new row of `bytes` bytes: the sum of `count` rows. Rows have room behind their end for 32 bytes, as has `out`.
  void (*down)(const std::uint8_t* const* rows, const std::int32_t* weights, std::size_t count, std::size_t bytes,
               std::uint8_t* out);
};

weigh_functions portable_weighing();
#if defined(__x86_64__)
weigh_functions avx2_weighing();
#endif
/// The fastest that this processor has.
weigh_functions fastest_weighing();

}  // namespace troupe
