#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <string>

namespace troupe {

/// As JSON has neither NaN nor infinities, these are strings, as in result.json. Null for other numbers.
inline const char* word_for_number(double value) noexcept {
  if (std::isfinite(value)) return nullptr;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

/// Appends a number in JSON: integers exactly, float32 and float64 as the shortest text that gives the same number
/// back.
template <class Number>
void append_json_number(std::string& json, Number value) {
  if constexpr (std::floating_point<Number>) {
    if (const char* const word = word_for_number(value)) {
      json.append("\"").append(word).append("\"");
      return;
    }
  }
  std::array<char, 32> text{};
  json.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

}  // namespace troupe
