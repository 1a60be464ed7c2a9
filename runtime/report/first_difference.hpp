#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace troupe {

/// first_difference() of include/troupe/result.hpp, of two objects of result.json.
[[nodiscard]] std::optional<std::string> first_difference(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace troupe
