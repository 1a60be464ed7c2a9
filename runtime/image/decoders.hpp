#pragma once

#include <csetjmp>
#include <vector>

#include "runtime/image/picture.hpp"

namespace troupe {

expected<picture_size> read_jpeg_size(std::span<const std::uint8_t> file, const std::string& place);
expected<void> decode_jpeg(std::span<const std::uint8_t> file, const std::string& place, row_sink& sink);
expected<picture_size> read_png_size(std::span<const std::uint8_t> file, const std::string& place);
expected<void> decode_png(std::span<const std::uint8_t> file, const std::string& place, row_sink& sink);

/// Errors of both.
expected<void> check_size(const std::string& place, picture_size size);
/// For a picture that needs `bytes` in memory at once, because it is `what`: "a progressive JPEG".
expected<void> check_memory(const std::string& place, const char* what, std::uint64_t bytes, std::uint64_t file_bytes);
tl::unexpected<error> damaged_picture(const std::string& place, const std::string& finding);
tl::unexpected<error> truncated_picture(const std::string& place, std::uint64_t file_bytes);

/// Calls `step`, from which a C library may jump to `place`; false if it did. `step` and what it calls in C++ have no
/// destructors to run.
template <class Step>
bool returns_from(std::jmp_buf& place, Step step) {
  if (setjmp(place) != 0) return false;
  step();
  return true;
}

}  // namespace troupe
