#pragma once

#include <span>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// E0103 if `regex` (ECMAScript, case ignored) is empty, longer than 256 characters or does not compile; the cause says
/// at which character it goes wrong.
expected<void> check_regex(const std::string& regex);

/// 1 for every type name in which `regex` is found (case ignored, anywhere in the name), 0 for the others. E0511 if
/// there is none, with the type names there are; E0103 as check_regex.
expected<std::vector<double>> match_types(const std::string& regex, std::span<const std::string> type_names);

/// "Conv2d x3, ReLU x2": which types there are and how often, for error messages; the first 20 types.
std::string list_types(std::span<const std::string> type_names);

}  // namespace troupe
