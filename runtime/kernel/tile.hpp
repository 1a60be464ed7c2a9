#pragma once

#include <cstdint>

namespace troupe {

/// A few rows of x by a few panels of packed weights, over a range of inputs.
struct tile_operands {
  const float* x = nullptr;  ///< of the first row, at the first input of the range
  std::int64_t x_stride = 0;
  const void* panels = nullptr;   ///< of the first panel, at the first input of the range; float or bfloat16
  std::int64_t panel_stride = 0;  ///< numbers from one panel to the next
  std::int64_t depth = 0;         ///< inputs in the range
  /// What the sums begin with: the bias (stride 0) or what the range before has left in y.
  const float* start = nullptr;
  std::int64_t start_stride = 0;
  float* y = nullptr;
  std::int64_t y_stride = 0;
  std::int64_t columns = 0;  ///< of y; may end within the last panel
  bool is_last = false;      ///< this range ends with the last input
  bool has_relu = false;     ///< taken with the last range
};

using tile_function = void (*)(const tile_operands&);

/// The tiles of one vector width and one type of weights.
struct tile_set {
  static constexpr int rows_max = 6;
  static constexpr int panel_sizes = 4;
  /// [rows - 1][i] takes 2^i panels; nullptr where a smaller one serves as well. The first is always there.
  tile_function of[rows_max][panel_sizes] = {};
};

// The files that make these are compiled for their processors. What they include besides must be no inline function
// that other files have, too: the linker could take theirs for the whole program.
extern const tile_set portable_tiles;
extern const tile_set portable_bfloat16_tiles;
extern const tile_set avx2_tiles;
extern const tile_set avx2_bfloat16_tiles;
extern const tile_set avx512_tiles;
extern const tile_set avx512_bfloat16_tiles;

}  // namespace troupe
