#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// What stands before the elements of a .npy file (NPY format 1.0, 2.0 and 3.0: numpy.lib.format).
struct npy_header {
  /// As written: "<f4".
  std::string descr;
  /// The first axis varies fastest.
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  /// The place of the first element in the file.
  std::uint64_t data_offset = 0;
};

/// Strict: exactly the keys descr, fortran_order and shape, each once, and nothing behind the dictionary but white
/// space. `bytes` is the file or its beginning. Wrong magic, version or syntax is E0303, a short file
/// E0302.
expected<npy_header> parse_npy_header(const std::string& path, std::span<const std::uint8_t> bytes);

}  // namespace troupe
