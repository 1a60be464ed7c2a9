#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace troupe {

/// Some rows of an array, as they travel: the type as "<f4", the number of dimensions and each dimension in 64 bits,
/// then the elements.
struct array_part {
  std::string descr;
  std::vector<std::int64_t> shape;
  /// Elements, of the memory that was read.
  std::span<const std::byte> content;
};

/// Appends a contiguous tensor. float32, float64, float16, bool and integers keep their type; bfloat16, which NumPy
/// does not have, is float32.
void append_array(std::vector<std::byte>& rows, const at::Tensor& tensor);

/// Nothing where the bytes, which an untrusted peer may have sent, are no such rows.
[[nodiscard]] std::optional<array_part> read_array(std::span<const std::byte> rows);

/// What stands before the elements of a file of format 1.0 (numpy.lib.format): always `npy_header_bytes`, so that it
/// can be written anew when the number of rows is known. `shape` has at most limits::wire_dimensions_max dimensions.
[[nodiscard]] std::string npy_header_text(std::string_view descr, const std::vector<std::int64_t>& shape);
inline constexpr std::size_t npy_header_bytes = 1024;

}  // namespace troupe
