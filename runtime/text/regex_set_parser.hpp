#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "runtime/text/code_point_set.hpp"

namespace troupe::regex {

/// Reads those parts of a regular expression that stand for one character, from `at` on, which moves.
class set_parser {
 public:
  set_parser(std::string_view pattern, std::size_t& at) : pattern_(pattern), at_(at) {}

  /// Behind the opening bracket; `depth` counts brackets inside of each other.
  tl::expected<range_set, std::string> brackets(std::size_t depth);
  /// Behind the backslash: a character, or a class such as \s or \p{L}.
  tl::expected<range_set, std::string> escape();

  [[nodiscard]] tl::unexpected<std::string> wrong(const std::string& what) const;

 private:
  struct item {
    range_set set;
    /// Where it is one character, which may begin or end a range.
    std::optional<char32_t> single;
  };
  [[nodiscard]] bool is_at(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  [[nodiscard]] bool is_done() const { return at_ >= pattern_.size(); }
  tl::expected<item, std::string> next_item(std::size_t depth);
  tl::expected<range_set, std::string> union_of_items(std::size_t depth, bool& is_closed);
  static std::optional<range_set> class_escape(char letter);
  tl::expected<char32_t, std::string> hex_escape(bool is_short);
  tl::expected<range_set, std::string> posix_class();
  tl::expected<range_set, std::string> property(bool is_negated);
  tl::expected<char32_t, std::string> number(std::size_t least, std::size_t most, unsigned base);

  std::string_view pattern_;
  std::size_t& at_;
};

}  // namespace troupe::regex
