#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace troupe {

/// A character of a text. Both count from 1, the column in code points, as editors and toml++ do.
struct text_place {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// `at` is its byte, at most the size of the text.
inline text_place place_in(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::string_view line = before.substr(line_begin);
  const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return {static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<std::size_t>(std::count_if(line.begin(), line.end(), starts_character)) + 1};
}

}  // namespace troupe
