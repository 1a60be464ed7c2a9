#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/data/byte_region.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// How the elements of a .npy file are stored.
enum class npy_type : std::uint8_t { b1, u1, u2, u4, u8, i1, i2, i4, i8, f2, f4, f8 };

/// A .npy file with at least one dimension and no size of 0, whose length fits its header. Elements may be stored in
/// either byte order, and in C order or Fortran order: rows are read as this machine has them, in C order.
class npy_array {
 public:
  /// Errors: as open_bytes and parse_npy_header; an element type not listed or bytes behind the last element
  /// E0303; too few bytes E0302; no elements E0306.
  static expected<npy_array> open(const std::string& path);
  /// The same of a file inside of another one: `region` is its content, and `place` stands for the path.
  static expected<npy_array> open(const std::string& place, byte_region_ptr region);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] npy_type type() const noexcept { return type_; }
  [[nodiscard]] const std::string& descr() const noexcept { return descr_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return static_cast<std::uint64_t>(shape_.front()); }
  /// Without the first dimension.
  [[nodiscard]] std::vector<std::int64_t> row_shape() const { return {shape_.begin() + 1, shape_.end()}; }
  [[nodiscard]] bool is_floating() const noexcept { return type_ >= npy_type::f2; }
  /// The tensor type with the same elements. LibTorch has hardly any operation but casts for u2, u4 and u8.
  [[nodiscard]] at::ScalarType dtype() const noexcept;
  [[nodiscard]] bool is_castable_only() const noexcept {
    return type_ == npy_type::u2 || type_ == npy_type::u4 || type_ == npy_type::u8;
  }

  /// Rows as dtype(). Memory: that of the rows, twice in Fortran order, which takes one read per element of a row and
  /// not one in all. Errors of both: as byte_region::read; E0604 no memory.
  [[nodiscard]] expected<at::Tensor> read_rows(sample_range rows) const;
  /// Rows of an integer array as int64; a u8 beyond int64 becomes negative.
  [[nodiscard]] expected<at::Tensor> as_int64(sample_range rows) const;

 private:
  npy_array() = default;
  /// The elements of these rows in the file's order, each in this machine's byte order.
  [[nodiscard]] expected<void> read(sample_range rows, std::span<std::uint8_t> into) const;
  /// Room for what read() gives.
  [[nodiscard]] expected<at::Tensor> new_rows(sample_range rows, at::ScalarType dtype) const;
  /// From the file's order to C order.
  [[nodiscard]] expected<at::Tensor> in_order(at::Tensor stored) const;

  std::string path_;
  byte_region_ptr region_;
  npy_type type_ = npy_type::f4;
  std::string descr_;
  bool is_swapped_ = false;
  bool is_fortran_ = false;
  std::vector<std::int64_t> shape_;
  std::uint64_t data_offset_ = 0;
  std::uint64_t element_bytes_ = 0;
  std::uint64_t row_elements_ = 0;
};

}  // namespace troupe
