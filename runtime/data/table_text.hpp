#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/data/byte_region.hpp"
#include "runtime/data/table_source.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// "x.csv, line 3, column price"; without a column where it is empty.
std::string table_place(const std::string& path, std::uint64_t line, std::string_view column = {});

/// Shortened for an error, without control characters.
std::string shown_cell(std::string_view text);

/// Where `text` stops to be UTF-8 without a NUL byte; nothing if it does not.
std::optional<std::size_t> find_bad_byte(std::string_view text);

/// The error of a row that is longer than table_row_bytes_max.
tl::unexpected<error> row_too_long(const std::string& path, std::uint64_t line);

/// open_bytes() of a text. Errors: those of open_bytes(), and E0303 for a file that is packed with gzip.
expected<byte_region_ptr> open_table_bytes(const std::string& path);

/// The number that is written there in decimal, rounded once to the nearest of its type. Spaces around it, and a plus
/// sign, are left out. Nothing for another text: nan, inf, 0x10, and what the type cannot hold.
template <class Number>
std::optional<Number> table_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto parse = [text](auto& into) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), into);
    return end == text.data() + text.size() ? failure : std::errc::invalid_argument;
  };
  Number number{};
  const std::errc failure = parse(number);
  if constexpr (std::is_floating_point_v<Number>) {
    double wide = 0;  // less than the least float32 is 0, and no error
    if (failure == std::errc::result_out_of_range && parse(wide) == std::errc{} && std::abs(wide) < 1)
      return static_cast<Number>(wide);
    if (!std::isfinite(number)) return std::nullopt;
  }
  if (failure != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace troupe
