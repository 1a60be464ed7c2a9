#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <troupe/error.hpp>

/// Pictures in files: JPEG (by libjpeg-turbo) and PNG (by libpng), as rows of red, green and blue. The pixels are those
/// of `PIL.Image.open(file).convert("RGB")` of Pillow 13: for PNG to the bit; for JPEG, too, where Pillow's
/// libjpeg-turbo computes as Debian's does (2.1 and 3.2 were compared). Marks of orientation (EXIF) are not applied,
/// nor are colour profiles, gamma or transparency.
namespace troupe {

struct picture_size {
  std::uint32_t width = 0;
  std::uint32_t height = 0;

  friend bool operator==(const picture_size&, const picture_size&) = default;
};

/// Pixels of a side and of a picture. The latter is where PIL takes a file for a decompression bomb.
inline constexpr std::uint32_t picture_side_max = 65'535;
inline constexpr std::uint64_t picture_pixels_max = 178'956'970;
/// Memory for a picture that cannot be decoded row by row (a progressive JPEG, an interlaced PNG), beside twice its
/// file.
inline constexpr std::uint64_t picture_memory_max = std::uint64_t{48} << 20;
/// Scans of a JPEG: each goes over all of its pixels, and a progressive one has about ten.
inline constexpr int jpeg_scans_max = 100;

/// Bytes of a pixel in a row: red, green, blue, and one that means nothing.
inline constexpr std::size_t pixel_bytes = 4;
/// Room behind each row that vectors may read and write.
inline constexpr std::size_t row_slack_bytes = 32;

/// Takes a picture, from its first row to its last.
class row_sink {
 public:
  row_sink() = default;
  row_sink(const row_sink&) = delete;
  row_sink& operator=(const row_sink&) = delete;
  virtual ~row_sink() = default;

  /// Called once, before any row. An error ends the decoding.
  virtual expected<void> begin(picture_size size) = 0;
  /// `width` pixels, which may be read, with row_slack_bytes behind them, until this returns.
  virtual void row(const std::uint8_t* pixels) = 0;
};

/// Reads the header alone. `place` is what errors name. Errors: as decode_picture.
expected<picture_size> read_picture_size(std::span<const std::uint8_t> file, const std::string& place);

/// Decodes the whole file, and gives each row to `sink`. What a file claims is checked before memory is taken for it:
/// one row, and picture_memory_max plus twice the file where rows do not suffice. Any number of threads may decode at a
/// time. Errors: E0302 for a file that ends too early; E0303 for one that is no JPEG or PNG, or is damaged; E0307
/// beyond the limits above, and those of `sink`. As with PIL, damage in the middle of a JPEG that libjpeg passes over
/// is no error.
expected<void> decode_picture(std::span<const std::uint8_t> file, const std::string& place, row_sink& sink);

}  // namespace troupe
