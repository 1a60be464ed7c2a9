#include <string>

#include "runtime/image/decoders.hpp"

namespace troupe {

expected<void> check_size(const std::string& place, picture_size size) {
  const std::string sides = std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels";
  if (size.width == 0 || size.height == 0) return damaged_picture(place, "is a picture of " + sides);
  const bool is_small = size.width <= picture_side_max && size.height <= picture_side_max &&
                        std::uint64_t{size.width} * size.height <= picture_pixels_max;
  if (is_small) return {};
  return fail(error_code::data_unreadable, place,
              "says that it has " + sides + ", and at most " + std::to_string(picture_side_max) + " on a side and " +
                  std::to_string(picture_pixels_max) + " in all are read",
              "make the picture smaller");
}

expected<void> check_memory(const std::string& place, const char* what, std::uint64_t bytes, std::uint64_t file_bytes) {
  if (bytes <= picture_memory_max + 2 * file_bytes) return {};
  return fail(error_code::data_unreadable, place,
              std::string("is ") + what + ", and needs " + std::to_string(bytes >> 20) + " MiB in memory",
              "save the picture as a baseline JPEG, or as a PNG without interlacing, which is read row by row");
}

tl::unexpected<error> damaged_picture(const std::string& place, const std::string& finding) {
  return fail(error_code::data_bad_format, place, finding,
              "fetch or save the picture again, or leave out what cannot be "
              "decoded with skip-bad");
}

tl::unexpected<error> truncated_picture(const std::string& place, std::uint64_t file_bytes) {
  return fail(error_code::data_truncated, place,
              "the picture ends too early, after " + std::to_string(file_bytes) + " bytes",
              "fetch the picture again, or leave out what cannot be decoded with skip-bad");
}

}  // namespace troupe
