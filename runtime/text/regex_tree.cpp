#include "runtime/text/regex_tree.hpp"

#include <optional>
#include <tuple>
#include <utility>

#include "messages/try.hpp"
#include "runtime/text/regex_set_parser.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe::regex {
namespace {

constexpr std::size_t group_depth_max = 50;
constexpr std::size_t repeats_max = 1000;
constexpr std::size_t pattern_bytes_max = 64u << 10;

struct flags {
  bool is_caseless = false;
  bool takes_newline = false;  ///< the dot
};

range_set without(char32_t c) {
  return range_set(c, c).complement();
}

class tree_parser {
 public:
  explicit tree_parser(std::string_view pattern) : pattern_(pattern), sets_(pattern_, at_) {}

  tl::expected<node, std::string> all() {
    node found = TROUPE_TRY(alternatives(flags{}, 0));
    if (!is_done()) return sets_.wrong("a parenthesis is closed that was not opened");
    return found;
  }

 private:
  using read = tl::expected<node, std::string>;

  [[nodiscard]] bool is_done() const { return at_ >= pattern_.size(); }
  [[nodiscard]] bool is_at(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    const bool is_there = is_at(text);
    if (is_there) at_ += text.size();
    return is_there;
  }

  // NOLINTNEXTLINE(misc-no-recursion): no deeper than group_depth_max
  read alternatives(flags how, std::size_t depth) {
    node all{.kind = node_kind::alternatives};
    do {
      all.parts.push_back(TROUPE_TRY(sequence(how, depth)));
    } while (take("|"));
    if (all.parts.size() > 1) return all;
    node only = std::move(all.parts.front());
    return only;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as above
  read sequence(flags& how, std::size_t depth) {
    node all{.kind = node_kind::sequence};
    while (!is_done() && !is_at("|") && !is_at(")")) {
      const bool is_for_rest = TROUPE_TRY(flags_for_the_rest(how));
      if (is_for_rest && !all.parts.empty()) return sets_.wrong("flags in the middle of a group are not supported");
      if (is_for_rest) continue;
      node next = TROUPE_TRY(atom(how, depth));
      node repeated = TROUPE_TRY(quantified(std::move(next)));
      all.parts.push_back(std::move(repeated));
    }
    return all;
  }

  /// "(?i)" holds up to the end of its group.
  tl::expected<bool, std::string> flags_for_the_rest(flags& how) {
    const std::size_t start = at_;
    if (!take("(?")) return false;
    const auto found = flag_letters(how);
    if (found && take(")")) {
      how = *found;
      return true;
    }
    at_ = start;
    return false;
  }

  std::optional<flags> flag_letters(flags how) {
    bool is_on = true;
    for (; !is_done(); ++at_) {
      const char c = pattern_[at_];
      if (c == '-') {
        is_on = false;
      } else if (c == 'i') {
        how.is_caseless = is_on;
      } else if (c == 'm') {
        how.takes_newline = is_on;
      } else {
        return how;
      }
    }
    return std::nullopt;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as above
  read group(flags how, std::size_t depth) {
    if (depth > group_depth_max) return sets_.wrong("too many groups inside of each other");
    node found{.kind = node_kind::nothing};
    if (take("?=")) {
      found.kind = node_kind::look_ahead;
    } else if (take("?!")) {
      found = {.kind = node_kind::look_ahead, .is_negated = true};
    } else if (take("?<=")) {
      found.kind = node_kind::look_behind;
    } else if (take("?<!")) {
      found = {.kind = node_kind::look_behind, .is_negated = true};
    } else if (take("?>")) {
      found.kind = node_kind::atomic;
    } else if (take("?")) {
      if (is_at("<") || is_at("P")) return sets_.wrong("groups with names are not supported");
      const auto letters = flag_letters(how);
      if (!letters || !take(":")) return sets_.wrong("this kind of group is not supported");
      how = *letters;
    }
    node inner = TROUPE_TRY(alternatives(how, depth + 1));
    if (!take(")")) return sets_.wrong("a parenthesis is not closed");
    if (found.kind == node_kind::nothing) return inner;
    found.parts.push_back(std::move(inner));
    return found;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as above
  read atom(flags how, std::size_t depth) {
    if (take("(")) return group(how, depth);
    if (take("^")) return node{.kind = node_kind::line_begin};
    if (take("$")) return node{.kind = node_kind::line_end};
    if (take("\\A")) return node{.kind = node_kind::text_begin};
    if (take("\\z")) return node{.kind = node_kind::text_end};
    if (take("\\Z")) return node{.kind = node_kind::text_end_or_newline};
    if (take("\\b")) return node{.kind = node_kind::word_edge};
    if (take("\\B")) return node{.kind = node_kind::word_edge, .is_negated = true};
    if (is_at("*") || is_at("+") || is_at("?")) return sets_.wrong("there is nothing to repeat");
    node found{.kind = node_kind::set};
    if (take(".")) {
      found.set = how.takes_newline ? range_set(0, 0x10FFFF) : without(U'\n');
    } else if (take("[")) {
      const bool is_negated = is_at("^");
      found.set = TROUPE_TRY(sets_.brackets(0));
      if (how.is_caseless && is_negated) {
        range_set outside = found.set.complement();
        outside.add_cases();
        found.set = outside.complement();
        return found;
      }
    } else if (take("\\")) {
      found.set = TROUPE_TRY(sets_.escape());
    } else {
      const char32_t c = utf8::next(pattern_, at_);
      found.set = range_set(c, c);
    }
    if (how.is_caseless) found.set.add_cases();
    return found;
  }

  /// "{2}", "{2,}", "{,3}", "{2,3}"; nothing where the brace is a character.
  std::optional<std::pair<std::size_t, std::size_t>> braces() {
    const std::size_t start = at_;
    if (!take("{")) return std::nullopt;
    const auto number = [&]() -> std::optional<std::size_t> {
      std::size_t value = 0;
      const std::size_t first = at_;
      for (; !is_done() && pattern_[at_] >= '0' && pattern_[at_] <= '9' && at_ - first < 6; ++at_) {
        value = value * 10 + static_cast<std::size_t>(pattern_[at_] - '0');
      }
      return at_ > first ? std::optional(value) : std::nullopt;
    };
    const auto least = number();
    const bool has_comma = take(",");
    const auto most = has_comma ? number() : least;
    if (take("}") && (least || most)) return std::pair(least.value_or(0), most.value_or(no_limit));
    at_ = start;
    return std::nullopt;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as often as there are quantifiers behind each other
  read quantified(node inner) {
    node found{.kind = node_kind::repeat};
    bool is_braced = false;
    if (take("*")) {
      found.most = no_limit;
    } else if (take("+")) {
      found.least = 1;
      found.most = no_limit;
    } else if (take("?")) {
      found.most = 1;
    } else if (const auto counts = braces()) {
      is_braced = true;
      std::tie(found.least, found.most) = *counts;
      const std::size_t larger = found.most == no_limit ? found.least : found.most;
      if (found.least > found.most || larger > repeats_max) return sets_.wrong("a number of repeats is out of range");
    } else {
      return inner;
    }
    if (take("?")) {
      found.how = greed::lazy;
    } else if (!is_braced && take("+")) {
      found.how = greed::possessive;
    }
    if (is_at("*") || is_at("+") || is_at("?") || is_at("{"))
      return sets_.wrong("a repeat of a repeat is not supported");
    found.parts.push_back(std::move(inner));
    return found;
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  set_parser sets_;
};

}  // namespace

tl::expected<node, std::string> parse(std::string_view pattern) {
  if (pattern.size() > pattern_bytes_max) return tl::make_unexpected(std::string("it has more than 64 KiB"));
  return tree_parser(pattern).all();
}

}  // namespace troupe::regex
