#pragma once

#include <cstdint>
#include <functional>

#include "runtime/kernel/packed_weights.hpp"
#include "runtime/kernel/vector_width.hpp"

namespace troupe {

/// Rows of numbers: row m begins at data + m * stride, and its numbers are neighbours. Rows that are read may have a
/// stride of 0 or a negative one; rows that are written must not overlap.
template <class Number>
struct row_view {
  Number* data = nullptr;
  std::int64_t stride = 0;
};

/// Calls `range(first, last)` for ranges that together are [0, count), each number once, on one or more threads, and
/// returns when all of them are done. Ranges of fewer than `grain` are not worth a thread.
using parallel_for = std::function<void(std::int64_t count, std::int64_t grain,
                                        const std::function<void(std::int64_t first, std::int64_t last)>& range)>;

struct linear_settings {
  bool has_relu = false;
  /// Must be one of usable_vector_widths().
  vector_width width = widest_vector_width();
  /// Empty: all on the caller's thread.
  parallel_for threads = {};
};

/// y = x W^T + b, for rows of weights.inputs() numbers in x and of weights.outputs() in y. x and y must not overlap.
///
/// Each output is one chain over the inputs k in ascending order: sum = b, then sum = fma(x[k], w[k], sum), in float32
/// with one rounding per step; then, if has_relu, 0 in place of a sum below 0 (NaN and -0 stay, as in PyTorch).
/// bfloat16 is widened exactly before and y rounded once, at the end. A result that is NaN has the bits 0x7fc00000
/// (0x7fc0). So the bits of a row depend on that row, the weights and has_relu alone: not on the other rows, their
/// number, the strides, the threads or the vector width. This holds in the floating-point environment with which
/// threads start (rounding to nearest, denormals are kept).
///
/// Reads and writes nothing but the rows themselves. May be called by several threads with the same weights. Throws
/// std::bad_alloc where bfloat16 needs memory: at most 128 rows of x and y as float32.
///
/// `Number`: float or bfloat16, whatever the type of the weights.
template <class Number>
void packed_linear(const packed_weights& weights, std::int64_t rows, row_view<const Number> x, row_view<Number> y,
                   const linear_settings& settings);

extern template void packed_linear(const packed_weights&, std::int64_t, row_view<const float>, row_view<float>,
                                   const linear_settings&);
extern template void packed_linear(const packed_weights&, std::int64_t, row_view<const bfloat16>, row_view<bfloat16>,
                                   const linear_settings&);

}  // namespace troupe
