#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "runtime/text/regex.hpp"

namespace troupe::regex {
namespace {

constexpr std::size_t instructions_max = 20'000;
constexpr std::size_t sets_max = 1000;
constexpr std::size_t look_behind_max = 100;

/// The number of characters that a part takes, where that is always the same.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
std::optional<std::size_t> fixed_length(const node& part) {
  std::size_t length = 0;
  switch (part.kind) {
    case node_kind::set:
      return 1;
    case node_kind::sequence:
      for (const node& each : part.parts) {
        const auto found = fixed_length(each);
        if (!found || *found > look_behind_max) return std::nullopt;
        length += *found;
      }
      return length;
    case node_kind::alternatives:
      for (std::size_t i = 0; i < part.parts.size(); ++i) {
        const auto found = fixed_length(part.parts[i]);
        if (!found || (i > 0 && *found != length)) return std::nullopt;
        length = *found;
      }
      return length;
    case node_kind::repeat: {
      const auto found = fixed_length(part.parts.front());
      if (!found || part.least != part.most || *found > look_behind_max) return std::nullopt;
      return *found * part.least;
    }
    case node_kind::atomic:
      return fixed_length(part.parts.front());
    default:
      return 0;
  }
}

/// Which bytes a part may begin with, and whether it may take none.
struct beginning {
  std::bitset<256> bytes;
  bool may_be_empty = true;
};

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
beginning beginning_of(const node& part) {
  beginning found;
  switch (part.kind) {
    case node_kind::set:
      return {part.set.first_bytes(), false};
    case node_kind::sequence:
      for (const node& each : part.parts) {
        const beginning next = beginning_of(each);
        found.bytes |= next.bytes;
        if (!next.may_be_empty) {
          found.may_be_empty = false;
          break;
        }
      }
      return found;
    case node_kind::alternatives:
      found.may_be_empty = false;
      for (const node& each : part.parts) {
        const beginning next = beginning_of(each);
        found.bytes |= next.bytes;
        found.may_be_empty = found.may_be_empty || next.may_be_empty;
      }
      return found;
    case node_kind::repeat:
      found = beginning_of(part.parts.front());
      found.may_be_empty = found.may_be_empty || part.least == 0;
      return found;
    case node_kind::atomic:
      return beginning_of(part.parts.front());
    default:
      return found;
  }
}

}  // namespace

class expression::compiler {
 public:
  explicit compiler(expression& to) : to_(to) {}

  using done = tl::expected<void, std::string>;

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
  done add(const node& part) {
    if (to_.code_.size() > instructions_max || to_.sets_.size() > sets_max)
      return tl::make_unexpected(std::string("it is too long"));
    switch (part.kind) {
      case node_kind::nothing:
        return {};
      case node_kind::set:
        put({.what = operation::set, .set = set_of(part.set)});
        return {};
      case node_kind::sequence:
        for (const node& each : part.parts) TROUPE_TRY(add(each));
        return {};
      case node_kind::alternatives:
        return add_alternatives(part);
      case node_kind::repeat:
        return add_repeat(part);
      case node_kind::look_ahead:
        return add_part(operation::look_ahead, part, 0);
      case node_kind::look_behind:
        return add_look_behind(part);
      case node_kind::atomic:
        return add_part(operation::atomic, part, 0);
      case node_kind::line_begin:
        put({.what = operation::line_begin});
        return {};
      case node_kind::line_end:
        put({.what = operation::line_end});
        return {};
      case node_kind::text_begin:
        put({.what = operation::text_begin});
        return {};
      case node_kind::text_end:
        put({.what = operation::text_end});
        return {};
      case node_kind::text_end_or_newline:
        put({.what = operation::text_end_or_newline});
        return {};
      case node_kind::word_edge:
        put({.what = operation::word_edge, .is_negated = part.is_negated});
        return {};
    }
    return {};
  }

  void finish() { put({.what = operation::accept}); }

 private:
  void put(const instruction& next) { to_.code_.push_back(next); }
  [[nodiscard]] std::uint32_t here() const { return static_cast<std::uint32_t>(to_.code_.size()); }

  std::uint32_t set_of(const range_set& ranges) {
    const auto found = std::ranges::find(known_, ranges.ranges());
    if (found != known_.end()) return static_cast<std::uint32_t>(found - known_.begin());
    known_.push_back(ranges.ranges());
    to_.sets_.emplace_back(ranges);
    return static_cast<std::uint32_t>(to_.sets_.size() - 1);
  }

  /// A split whose two ways begin with these.
  std::uint32_t split(const beginning& first, const beginning& other) {
    to_.ways_.push_back({first.bytes, other.bytes, first.may_be_empty, other.may_be_empty});
    put({.what = operation::split, .first_bytes = static_cast<std::uint32_t>(to_.ways_.size() - 1)});
    return here() - 1;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
  done add_alternatives(const node& part) {
    std::vector<std::uint32_t> ends;
    std::vector<beginning> firsts;
    for (const node& each : part.parts) firsts.push_back(beginning_of(each));
    std::vector<beginning> rests = firsts;
    for (std::size_t i = rests.size() - 1; i-- > 0;) {
      rests[i].bytes |= rests[i + 1].bytes;
      rests[i].may_be_empty = rests[i].may_be_empty || rests[i + 1].may_be_empty;
    }
    for (std::size_t i = 0; i + 1 < part.parts.size(); ++i) {
      const std::uint32_t choice = split(firsts[i], rests[i + 1]);
      TROUPE_TRY(add(part.parts[i]));
      ends.push_back(here());
      put({.what = operation::jump});
      to_.code_[choice].other = here();
    }
    TROUPE_TRY(add(part.parts.back()));
    for (const std::uint32_t end : ends) to_.code_[end].other = here();
    return {};
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
  done add_repeat(const node& part) {
    const node& inner = part.parts.front();
    if (inner.kind == node_kind::set) {
      const operation what = part.how == greed::greedy ? operation::repeat_greedy
                             : part.how == greed::lazy ? operation::repeat_lazy
                                                       : operation::repeat_possessive;
      put({.what = what, .set = set_of(inner.set), .least = part.least, .most = part.most});
      return {};
    }
    if (part.how == greed::possessive) {
      node atomic{.kind = node_kind::atomic, .parts = {part}};
      atomic.parts.front().how = greed::greedy;
      return add(atomic);
    }
    const beginning first = beginning_of(inner);
    if (first.may_be_empty && part.most == no_limit) {
      return tl::make_unexpected(std::string("an unlimited repeat of what may be empty is not supported"));
    }
    for (std::size_t i = 0; i < part.least; ++i) TROUPE_TRY(add(inner));
    if (part.most == no_limit) return add_star(inner, first, part.how);
    std::vector<std::uint32_t> choices;
    for (std::size_t i = part.least; i < part.most; ++i) {
      TROUPE_TRY(add_optional(inner, first, part.how, choices));
    }
    for (const std::uint32_t choice : choices) to_.code_[choice].other = here();
    return {};
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
  done add_star(const node& inner, const beginning& first, greed how) {
    if (how == greed::lazy) return tl::make_unexpected(std::string("a lazy repeat of a group is not supported"));
    const std::uint32_t choice = split(first, {});
    TROUPE_TRY(add(inner));
    put({.what = operation::jump, .other = choice});
    to_.code_[choice].other = here();
    return {};
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
  done add_optional(const node& inner, const beginning& first, greed how, std::vector<std::uint32_t>& choices) {
    if (how == greed::lazy) return tl::make_unexpected(std::string("a lazy repeat of a group is not supported"));
    choices.push_back(split(first, {}));
    return add(inner);
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
  done add_part(operation what, const node& part, std::size_t length) {
    const std::uint32_t at = here();
    put({.what = what, .is_negated = part.is_negated, .least = length});
    TROUPE_TRY(add(part.parts.front()));
    put({.what = operation::accept});
    to_.code_[at].other = here();
    return {};
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
  done add_look_behind(const node& part) {
    const auto length = fixed_length(part.parts.front());
    if (!length || *length > look_behind_max) {
      return tl::make_unexpected(std::string("a look behind of no fixed length is not supported"));
    }
    return add_part(operation::look_behind, part, *length);
  }

  expression& to_;
  std::vector<std::vector<range_set::range>> known_;
};

tl::expected<expression, std::string> expression::compile(std::string_view pattern) {
  const node tree = TROUPE_TRY(parse(pattern));
  expression made;
  compiler to(made);
  TROUPE_TRY(to.add(tree));
  to.finish();
  return made;
}

}  // namespace troupe::regex
