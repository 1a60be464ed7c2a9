#include "runtime/text/regex.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe::regex {

bool expression::search::takes(std::uint32_t set, std::size_t& position) const {
  if (position >= text_.size()) return false;
  const code_point_set& wanted = of_.sets_[set];
  const char byte = text_[position];
  if (static_cast<unsigned char>(byte) < 0x80) {
    if (!wanted.has_ascii(byte)) return false;
    ++position;
    return true;
  }
  std::size_t behind = position;
  if (!wanted.has(utf8::next(text_, behind))) return false;
  position = behind;
  return true;
}

bool expression::search::is_word_at(std::size_t position) const {
  if (position >= text_.size()) return false;
  return unicode::character_table::get().has(utf8::next(text_, position), unicode::regex_word);
}

std::optional<text_span> expression::search::first_from(std::size_t from) {
  for (std::size_t at = from; at <= text_.size() && !is_exhausted();) {
    const auto end = fit(0, at);
    if (end) return text_span{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(*end)};
    at += at < text_.size() ? utf8::length_from(text_[at]) : 1;
  }
  return std::nullopt;
}

/// Where the part that begins at `at` ends, if it fits.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the expression's groups
std::optional<std::size_t> expression::search::fit(std::uint32_t at, std::size_t position) {
  const std::size_t floor = choices_.size();
  while (--steps_left_ >= 0) {
    if (of_.code_[at].what == operation::accept) {
      choices_.resize(floor);
      return position;
    }
    if (!step(at, position) && !retry(floor, at, position)) break;
  }
  choices_.resize(floor);
  return std::nullopt;
}

/// Goes back to the last choice.
bool expression::search::retry(std::size_t floor, std::uint32_t& at, std::size_t& position) {
  while (choices_.size() > floor) {
    choice& last = choices_.back();
    at = last.at;
    if (last.is_lazy) {
      if (last.bound == 0 || !takes(last.set, last.position)) {
        choices_.pop_back();
        continue;
      }
      --last.bound;
      position = last.position;
      return true;
    }
    if (last.bound < last.position) {
      last.position = utf8::before(text_, last.position);
      position = last.position;
      if (last.position <= last.bound) choices_.pop_back();
      return true;
    }
    position = last.position;
    choices_.pop_back();
    return true;
  }
  return false;
}

bool expression::search::repeat(const instruction& now, std::uint32_t& at, std::size_t& position) {
  std::size_t count = 0;
  const std::size_t wanted = now.what == operation::repeat_lazy ? now.least : now.most;
  std::size_t least_end = position;
  while (count < wanted && takes(now.set, position)) {
    if (++count == now.least) least_end = position;
  }
  steps_left_ -= static_cast<std::int64_t>(count / 8);
  if (count < now.least) return false;
  ++at;
  if (now.what == operation::repeat_lazy) {
    const std::size_t more = now.most == no_limit ? no_limit : now.most - now.least;
    choices_.push_back({.at = at, .set = now.set, .position = position, .bound = more, .is_lazy = true});
  } else if (now.what == operation::repeat_greedy && position > least_end) {
    choices_.push_back({.at = at, .position = position, .bound = least_end});
  }
  return true;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the expression's groups
bool expression::search::fits_behind(const instruction& now, std::uint32_t at, std::size_t position) {
  for (std::size_t i = 0; i < now.least; ++i) {
    if (position == 0) return false;
    position = utf8::before(text_, position);
  }
  return fit(at + 1, position).has_value();
}

/// The first of two ways that may fit, and the other one for later.
bool expression::search::choose(const instruction& now, std::uint32_t& at, std::size_t position) {
  const two_ways& ways = of_.ways_[now.first_bytes];
  const bool is_end = position >= text_.size();
  const auto byte = is_end ? 0U : static_cast<unsigned char>(text_[position]);
  const bool first = ways.first_may_be_empty || (!is_end && ways.first[byte]);
  const bool other = ways.other_may_be_empty || (!is_end && ways.other[byte]);
  if (first && other) choices_.push_back({.at = now.other, .position = position, .bound = position});
  at = first ? at + 1 : now.other;
  return first || other;
}

/// One instruction; false where it does not fit.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the expression's groups
bool expression::search::step(std::uint32_t& at, std::size_t& position) {
  const instruction& now = of_.code_[at];
  const auto go_if = [&](bool fits) {
    if (fits) ++at;
    return fits;
  };
  switch (now.what) {
    case operation::set:
      return go_if(takes(now.set, position));
    case operation::repeat_greedy:
    case operation::repeat_lazy:
    case operation::repeat_possessive:
      return repeat(now, at, position);
    case operation::split:
      return choose(now, at, position);
    case operation::jump:
      at = now.other;
      return true;
    case operation::look_ahead: {
      if (fit(at + 1, position).has_value() == now.is_negated) return false;
      at = now.other;
      return true;
    }
    case operation::look_behind: {
      if (fits_behind(now, at, position) == now.is_negated) return false;
      at = now.other;
      return true;
    }
    case operation::atomic: {
      const auto end = fit(at + 1, position);
      if (!end) return false;
      position = *end;
      at = now.other;
      return true;
    }
    case operation::line_begin:
      return go_if(position == 0 || text_[position - 1] == '\n');
    case operation::line_end:
      return go_if(position == text_.size() || text_[position] == '\n');
    case operation::text_begin:
      return go_if(position == 0);
    case operation::text_end:
      return go_if(position == text_.size());
    case operation::text_end_or_newline:
      return go_if(position == text_.size() || (position + 1 == text_.size() && text_[position] == '\n'));
    case operation::word_edge: {
      const bool before = position > 0 && is_word_at(utf8::before(text_, position));
      return go_if((before != is_word_at(position)) != now.is_negated);
    }
    case operation::accept:
      return true;
  }
  return false;
}

}  // namespace troupe::regex
