#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>

namespace troupe {

/// The rows of a block, cut into parts of equal size (the last may be smaller) that share its storage and all start at
/// limits::payload_alignment, so that the bits of a kernel's result do not depend on where in a block a micro-batch
/// lay. Where the parts lie like that already nothing is copied; else the block is copied once, with gaps between the
/// parts.
class aligned_rows {
 public:
  aligned_rows() = default;
  /// `rows` [N, ...] contiguous, on the CPU. Too little memory for the copy is an error (E0604).
  static expected<aligned_rows> cut(at::Tensor rows, std::int64_t rows_per_part);

  [[nodiscard]] std::int64_t parts() const noexcept;
  /// Part `index`, contiguous, in constant time and without the dispatcher.
  [[nodiscard]] at::Tensor part(std::int64_t index) const;

 private:
  /// Carries sizes and, unless copied, the elements.
  at::Tensor rows_;
  std::int64_t rows_per_part_ = 1;
  /// The elements, part k beginning at element first_ + k * stride_.
  at::Tensor storage_;
  std::int64_t first_ = 0;
  std::int64_t stride_ = 0;
};

}  // namespace troupe
