#pragma once

#include <string>

#include "program/compare/compare.hpp"

namespace troupe::cli {

/// The result of `troupe compare` as tables for people, and as the JSON object of docs/schema/compare.schema.json.
[[nodiscard]] std::string compare_text(const compare_request& asked, const comparison& made, std::size_t width);
[[nodiscard]] std::string compare_json(const compare_request& asked, const comparison& made);

}  // namespace troupe::cli
