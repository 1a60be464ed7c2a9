#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/messages/ids.hpp>
#include <troupe/runtime/data/byte_region.hpp>

namespace troupe {

/// How the elements of a .npy file are stored. The unsigned kinds beyond u1 exist for labels only: LibTorch has hardly
/// any operation for them.
enum class npy_type : std::uint8_t { b1, u1, u2, u4, u8, i1, i2, i4, i8, f2, f4, f8 };

/// A mapped .npy array with at least one dimension and no size of 0, whose length fits its header.
class npy_array {
 public:
  /// Errors: as map_file and parse_npy_header; an element type not listed, big-endian ones included, or bytes behind
  /// the last element E0303; too few bytes E0302; no elements E0306.
  static expected<npy_array> open(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] npy_type type() const noexcept { return type_; }
  [[nodiscard]] const std::string& descr() const noexcept { return descr_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return static_cast<std::uint64_t>(shape_.front()); }
  /// Without the first dimension.
  [[nodiscard]] std::vector<std::int64_t> row_shape() const { return {shape_.begin() + 1, shape_.end()}; }
  [[nodiscard]] bool is_floating() const noexcept { return type_ >= npy_type::f2; }
  /// The tensor type with the same elements; Undefined for u2, u4 and u8.
  [[nodiscard]] at::ScalarType dtype() const noexcept;

  /// Rows as a tensor that views the mapping and keeps it alive, without a copy; copied only if the elements do not lie
  /// at multiples of their size. To be called only if dtype() is defined.
  [[nodiscard]] expected<at::Tensor> view(sample_range rows) const;
  /// Rows of an integer array as int64; a u8 beyond int64 becomes negative.
  [[nodiscard]] expected<at::Tensor> as_int64(sample_range rows) const;

 private:
  npy_array() = default;
  [[nodiscard]] const std::uint8_t* row(std::uint64_t index) const noexcept;

  std::string path_;
  byte_region_ptr region_;
  npy_type type_ = npy_type::f4;
  std::string descr_;
  std::vector<std::int64_t> shape_;
  std::uint64_t data_offset_ = 0;
  std::uint64_t element_bytes_ = 0;
  std::uint64_t row_elements_ = 0;
};

}  // namespace troupe
