#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>

namespace troupe {

/// The rows of a decoded block, cut into micro-batches: parts of equal size, of which the last may be smaller. Every
/// part starts at an address that is a multiple of limits::payload_alignment, because the bits of a kernel's result
/// depend on the alignment, and must not depend on a micro-batch's place in its block. Where the parts of `rows` start
/// so already, and nothing else can write to them, nothing is copied; else the block is copied once, with gaps between
/// the parts.
/// Threads: any number may read.
class aligned_rows {
 public:
  /// No parts.
  aligned_rows() = default;
  /// `rows` [N, ...] with N >= 1, contiguous, on the CPU; rows_per_part >= 1. Its memory is shared only if this handle
  /// is its only owner (is_only_owner), or if it `is_constant`. E0604: no memory for the copy.
  static expected<aligned_rows> cut(const at::Tensor& rows, std::int64_t rows_per_part, bool is_constant = false);

  [[nodiscard]] std::int64_t parts() const noexcept;
  /// All its memory.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return storage_.defined() ? storage_.nbytes() : 0; }
  /// Part `index` < parts(): a contiguous view, which keeps the storage alive. Takes constant time, as it does not go
  /// through LibTorch's dispatcher.
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
