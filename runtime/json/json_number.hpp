#pragma once

#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "runtime/json/number_text.hpp"

namespace troupe {

/// The number, or the word for it (word_for_number).
inline nlohmann::ordered_json json_number(double value) {
  const char* const word = word_for_number(value);
  return word == nullptr ? nlohmann::ordered_json(value) : nlohmann::ordered_json(word);
}

/// What json_number() wrote, or an integer; nothing for another value.
template <class Json>
std::optional<double> number_in_json(const Json& value) {
  if (value.is_number()) return value.template get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace troupe
