#include "runtime/image/picture.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/image/decoders.hpp"

namespace troupe {
namespace {

using namespace std::string_view_literals;

enum class picture_kind : std::uint8_t { jpeg, png, other };

bool begins_with(std::span<const std::uint8_t> file, std::string_view magic, std::size_t at = 0) {
  return file.size() >= at + magic.size() &&
         std::ranges::equal(file.subspan(at, magic.size()), magic,
                            [](std::uint8_t byte, char c) { return byte == static_cast<std::uint8_t>(c); });
}

picture_kind kind_of(std::span<const std::uint8_t> file) {
  if (begins_with(file, "\xff\xd8\xff"sv)) return picture_kind::jpeg;
  if (begins_with(file, "\x89PNG\r\n\x1a\n"sv)) return picture_kind::png;
  return picture_kind::other;
}

tl::unexpected<error> other_kind(std::span<const std::uint8_t> file, const std::string& place) {
  struct known_magic {
    std::string_view magic;
    std::size_t at;
    const char* name;
  };
  constexpr std::array known{
      known_magic{"GIF8"sv, 0, "a GIF"},
      known_magic{"WEBP"sv, 8, "a WebP file"},
      known_magic{"BM"sv, 0, "a BMP file"},
      known_magic{"II*\0"sv, 0, "a TIFF file"},
      known_magic{"MM\0*"sv, 0, "a TIFF file"},
      known_magic{"ftyp"sv, 4, "an AVIF or HEIF file"},
      known_magic{"<"sv, 0, "a text, such as a web page that a server gave in place of the picture"},
      known_magic{"version https://git-lfs"sv, 0, "a pointer of Git LFS"}};
  if (file.empty()) {
    return fail(error_code::data_empty, place, "is empty (0 bytes)",
                "fetch the picture again, or leave out what cannot be decoded with skip-bad");
  }
  const auto* found =
      std::ranges::find_if(known, [&](const known_magic& each) { return begins_with(file, each.magic, each.at); });
  const std::string what = found == known.end() ? "is neither a JPEG nor a PNG file"
                                                : "is " + std::string(found->name) + ", expected a JPEG or PNG file";
  return fail(error_code::data_bad_format, place, what,
              "convert the picture to PNG, or leave out what cannot be decoded with skip-bad");
}

}  // namespace

expected<picture_size> read_picture_size(std::span<const std::uint8_t> file, const std::string& place) {
  switch (kind_of(file)) {
    case picture_kind::jpeg:
      return read_jpeg_size(file, place);
    case picture_kind::png:
      return read_png_size(file, place);
    case picture_kind::other:
      break;
  }
  return other_kind(file, place);
}

expected<void> decode_picture(std::span<const std::uint8_t> file, const std::string& place, row_sink& sink) {
  switch (kind_of(file)) {
    case picture_kind::jpeg:
      return decode_jpeg(file, place, sink);
    case picture_kind::png:
      return decode_png(file, place, sink);
    case picture_kind::other:
      break;
  }
  return other_kind(file, place);
}

}  // namespace troupe
