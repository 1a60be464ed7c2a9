#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "program/plan/crossing.hpp"

namespace troupe {

/// null for an empty text.
inline nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// {"joined_because": null, "bytes": 1024, "values": [{"made_by": "conv1", "layer": 0, "shape": [1, 256], "bytes":
/// 1024}]}
nlohmann::ordered_json crossing_json(const crossing& place);

}  // namespace troupe
