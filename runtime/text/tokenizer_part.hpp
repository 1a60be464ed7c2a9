#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/json/json_part.hpp"
#include "runtime/text/regex.hpp"

namespace troupe {

/// E0308 about a tokenizer's file.
[[nodiscard]] tl::unexpected<error> unusable(const std::string& where, const std::string& cause);

/// The member "type" of a part. E0308 where the part has a member besides those that are `known`.
expected<std::string> type_of(const json_part& part);
expected<void> check_members(const json_part& part, std::string_view type,
                             std::initializer_list<std::string_view> known);

/// A whole number from 0 to `most`.
expected<std::size_t> count_in(const json_part& part, std::size_t most);

/// {"String": "a"} or {"Regex": "a+"}.
class text_pattern {
 public:
  explicit text_pattern(std::string literal) : what_(std::move(literal)) {}
  explicit text_pattern(regex expression) : what_(std::move(expression)) {}

  /// Calls take(begin, end) for each match; false where the search gave up.
  template <class Take>
  [[nodiscard]] bool find(std::string_view text, const Take& take) const {
    if (const auto* expression = std::get_if<regex>(&what_)) {
      regex_search search(*expression, text);
      while (const auto match = search.next()) take(match->begin, match->end);
      return !search.has_given_up();
    }
    const std::string& literal = std::get<std::string>(what_);
    for (std::size_t at = text.find(literal); at != std::string_view::npos && !literal.empty();) {
      take(at, at + literal.size());
      at = text.find(literal, at + literal.size());
    }
    return true;
  }

 private:
  std::variant<std::string, regex> what_;
};
expected<text_pattern> read_pattern(const json_part& part);
/// E0303: the expression gave up.
[[nodiscard]] tl::unexpected<error> gave_up();

}  // namespace troupe
