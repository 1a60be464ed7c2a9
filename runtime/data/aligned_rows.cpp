#include "runtime/data/aligned_rows.hpp"

#include <algorithm>
#include <cstring>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/tensor/own_memory.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {

namespace {

constexpr auto alignment = static_cast<std::int64_t>(limits::payload_alignment);

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

std::int64_t bytes_past_boundary(const void* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % limits::payload_alignment);
}

}  // namespace

expected<aligned_rows> aligned_rows::cut(const at::Tensor& rows, std::int64_t rows_per_part, bool is_constant) {
  TROUPE_CHECK(rows.dim() >= 1 && rows.size(0) >= 1 && rows_per_part >= 1, "a block has samples");
  TROUPE_CHECK(rows.is_contiguous() && rows.device().is_cpu(), "data sets give contiguous rows in memory");
  const auto item = static_cast<std::int64_t>(rows.element_size());
  TROUPE_CHECK(alignment % item == 0, "an element never lies across a boundary");
  const std::int64_t row_elements = rows.numel() / rows.size(0);
  const std::int64_t part_bytes = rows_per_part * row_elements * item;
  const auto* source = static_cast<const std::uint8_t*>(rows.const_data_ptr());
  const bool may_share = is_constant || is_only_owner(rows);

  aligned_rows result;
  result.rows_ = rows;
  result.rows_per_part_ = rows_per_part;
  const bool one_part = result.parts() == 1;
  if (may_share && bytes_past_boundary(source) == 0 && (one_part || part_bytes % alignment == 0)) {
    result.storage_ = result.rows_;
    result.first_ = result.rows_.storage_offset();
    result.stride_ = part_bytes / item;
    return result;
  }
  // No part is longer than the block, so the last one needs no more room than the block has.
  const std::int64_t stride_bytes = one_part ? 0 : round_up(part_bytes, alignment);
  const std::int64_t total = (result.parts() - 1) * stride_bytes + std::min(part_bytes, result.rows_.numel() * item);
  at::Tensor room =
      TROUPE_TRY(new_tensor({(total + alignment) / item}, result.rows_.scalar_type(), "aligning samples"));
  auto* target = static_cast<std::uint8_t*>(room.mutable_data_ptr());
  const std::int64_t skipped = (alignment - bytes_past_boundary(target)) % alignment;
  const std::int64_t source_bytes = result.rows_.numel() * item;
  for (std::int64_t k = 0; k < result.parts(); ++k) {
    const std::int64_t begin = k * part_bytes;
    std::memcpy(target + skipped + k * stride_bytes, source + begin,
                static_cast<std::size_t>(std::min(part_bytes, source_bytes - begin)));
  }
  result.storage_ = std::move(room);
  result.first_ = skipped / item;
  result.stride_ = stride_bytes / item;
  return result;
}

std::int64_t aligned_rows::parts() const noexcept {
  return rows_.defined() ? (rows_.size(0) + rows_per_part_ - 1) / rows_per_part_ : 0;
}

at::Tensor aligned_rows::part(std::int64_t index) const {
  TROUPE_CHECK(0 <= index && index < parts(), "the caller counts the parts");
  std::vector<std::int64_t> sizes = rows_.sizes().vec();
  sizes[0] = std::min(rows_per_part_, rows_.size(0) - index * rows_per_part_);
  return contiguous_view(storage_, first_ + index * stride_, sizes);
}

}  // namespace troupe
