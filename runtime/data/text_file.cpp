#include "runtime/data/text_file.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

bool is_blank(std::uint8_t byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

}  // namespace

std::optional<error> text_in_place_of(std::string_view format, const std::string& path,
                                      std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 3> byte_order_mark{0xef, 0xbb, 0xbf};
  /// Fewer bytes could be text by chance.
  constexpr std::size_t text_bytes_min = 4;
  bytes = bytes.first(std::min(bytes.size(), text_bytes_shown));
  if (bytes.size() >= byte_order_mark.size() && std::ranges::equal(bytes.first(3), byte_order_mark)) {
    bytes = bytes.subspan(3);
  }
  while (!bytes.empty() && is_blank(bytes.front())) bytes = bytes.subspan(1);
  std::string shown;
  for (const std::uint8_t byte : bytes) {
    if (!is_blank(byte) && (byte < ' ' || byte > '~')) return std::nullopt;
    shown += is_blank(byte) ? ' ' : static_cast<char>(byte);
  }
  if (shown.size() < text_bytes_min) return std::nullopt;
  return error{error_code::data_bad_format, path + ", byte 0",
               "is a text and no " + std::string(format) + " file: it begins with \"" + shown + "\"",
               shown.starts_with('<') ? "fetch the file again, from another address: this one gave a web page"
                                      : "fetch the file itself: for a pointer of Git LFS, git lfs pull"};
}

std::optional<error> text_in_place_of(std::string_view format, const std::string& path, const byte_region& bytes) {
  std::array<std::uint8_t, text_bytes_shown> first{};
  const std::span begin = std::span(first).first(std::min<std::size_t>(first.size(), bytes.size()));
  if (auto got = bytes.read(0, begin); !got) return got.error();
  return text_in_place_of(format, path, std::span<const std::uint8_t>(begin));
}

}  // namespace troupe
