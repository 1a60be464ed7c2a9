#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <string>

namespace troupe {

/// A number in JSON: the shortest text that gives the same float32 or float64 back; NaN and infinities as in
/// result.json.
template <std::floating_point Number>
std::string json_number(Number value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace troupe
