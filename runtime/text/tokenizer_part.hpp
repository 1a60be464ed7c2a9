#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "runtime/json/json_part.hpp"
#include "runtime/text/regex.hpp"

namespace troupe {

/// E0308 about a tokenizer's file.
[[nodiscard]] tl::unexpected<error> unusable(const std::string& where, const std::string& cause);

/// The member "type" of a part. E0308 where the part has a member besides those that are `known`.
expected<std::string> type_of(const json_part& part);
expected<void> check_members(const json_part& part, std::string_view type,
                             std::initializer_list<std::string_view> known);

/// Members that may be missing or null.
expected<bool> truth_or(const json_part& part, std::string_view key, bool otherwise);
expected<std::string> text_or(const json_part& part, std::string_view key, const std::string& otherwise);
/// A whole number from 0 to `most`.
expected<std::size_t> count_in(const json_part& part, std::size_t most);

/// {"String": "a"} or {"Regex": "a+"}.
struct text_pattern {
  bool is_regex = false;
  std::string literal;
  regex::expression expression;

  /// Calls take(begin, end) for each match; false where the expression takes too many steps.
  template <class Take>
  [[nodiscard]] bool find(std::string_view text, const Take& take) const {
    if (is_regex) return expression.find_all(text, [&](const text_span& match) { take(match.begin, match.end); });
    for (std::size_t at = text.find(literal); at != std::string_view::npos && !literal.empty();) {
      take(at, at + literal.size());
      at = text.find(literal, at + literal.size());
    }
    return true;
  }
};
expected<text_pattern> read_pattern(const json_part& part);
/// E0303: the expression gave up.
[[nodiscard]] tl::unexpected<error> gave_up();

}  // namespace troupe
