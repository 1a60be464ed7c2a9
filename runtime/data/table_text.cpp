#include "runtime/data/table_text.hpp"

#include <algorithm>
#include <array>

#include "messages/try.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {

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
  const std::size_t bad = std::min(text.find('\0'), utf8::invalid_utf8_at(text));
  return bad == std::string_view::npos ? std::nullopt : std::optional(bad);
}

expected<byte_region_ptr> open_table_bytes(const std::string& path) {
  auto opened = open_bytes(path);
  if (!opened && opened.error().code == error_code::data_empty) {
    return fail(error_code::data_empty, path, "is empty (0 bytes), so it has no row",
                "write the rows into it, or name another file");
  }
  byte_region_ptr region = TROUPE_TRY(std::move(opened));
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
