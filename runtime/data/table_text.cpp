#include "runtime/data/table_text.hpp"

#include <algorithm>
#include <array>

#include "messages/try.hpp"

namespace troupe {

namespace {

/// Bytes of the character that begins with `first`, and its least code point; 0 for no beginning.
struct character_form {
  std::size_t bytes = 0;
  std::uint32_t least = 0;
};

character_form form_of_character(std::uint8_t first) {
  if (first != 0 && first < 0x80) return {1, 1};
  if (first >= 0xc2 && first < 0xe0) return {2, 0x80};
  if (first >= 0xe0 && first < 0xf0) return {3, 0x800};
  if (first >= 0xf0 && first < 0xf5) return {4, 0x10000};
  return {};
}

/// 0 where there is none.
std::size_t bytes_of_character(std::string_view text) {
  const auto first = static_cast<std::uint8_t>(text.front());
  const character_form form = form_of_character(first);
  if (form.bytes == 0 || form.bytes > text.size()) return 0;
  std::uint32_t code = form.bytes == 1 ? first : first & (0x7fU >> form.bytes);
  for (std::size_t i = 1; i < form.bytes; ++i) {
    const auto next = static_cast<std::uint8_t>(text[i]);
    if ((next & 0xc0U) != 0x80U) return 0;
    code = code << 6U | (next & 0x3fU);
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < form.least || code > 0x10ffff || is_surrogate ? 0 : form.bytes;
}

}  // namespace

std::string table_place(const std::string& path, std::uint64_t line, std::string_view column) {
  std::string place = path + ", line " + std::to_string(line);
  if (!column.empty()) place.append(", column ").append(shown_cell(column));
  return place;
}

std::string shown_cell(std::string_view text) {
  constexpr std::size_t shown_max = 40;
  std::string shown;
  for (const char c : text.substr(0, shown_max)) {
    const auto byte = static_cast<std::uint8_t>(c);
    shown += byte < ' ' || byte == 0x7f ? '?' : c;
  }
  if (text.size() > shown_max) {
    while (!shown.empty() && find_bad_byte(shown)) shown.pop_back();  // a character that was cut
    shown += "...";
  }
  return shown;
}

std::optional<std::size_t> find_bad_byte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<std::uint8_t>(text[at]);
    const std::size_t bytes = byte != 0 && byte < 0x80 ? 1 : bytes_of_character(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::nullopt;
}

expected<byte_region_ptr> open_table_bytes(const std::string& path) {
  byte_region_ptr region = TROUPE_TRY(open_bytes(path));
  std::array<std::uint8_t, 2> begin{};
  if (region->size() < begin.size()) return region;
  TROUPE_TRY(region->read(0, begin));
  if (begin != std::array<std::uint8_t, 2>{0x1f, 0x8b}) return region;
  return fail(error_code::data_bad_format, path, "is packed with gzip",
              "unpack it with gunzip --keep, and name that file");
}

tl::unexpected<error> row_too_long(const std::string& path, std::uint64_t line) {
  return fail(error_code::data_bad_format, table_place(path, line),
              "the row that begins here has more than " + std::to_string(table_row_bytes_max) + " bytes",
              "check whether a quote is missing there, or a line break");
}

}  // namespace troupe
