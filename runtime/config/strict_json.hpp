#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <troupe/error.hpp>

namespace troupe {

/// A JSON text whose values a person wrote, in its order. Comments of Hjson, which DeepSpeed reads, count as blanks:
/// behind # or // to the end of the line, and between /* and */. E0402 with "name:line:column" or the key's path for
/// other texts, a key that is there twice, and more than limits::config_nesting_max values inside each other.
expected<nlohmann::ordered_json> parse_strict_json(std::string_view text, const std::string& name);

}  // namespace troupe
