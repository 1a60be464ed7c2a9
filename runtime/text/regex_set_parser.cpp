#include "runtime/text/regex_set_parser.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/uscript.h>

#include "messages/try.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe::regex {
namespace {

using unicode::category;

constexpr std::size_t set_depth_max = 20;
constexpr std::array<std::string_view, 30> category_names = {
    "lu", "ll", "lt", "lm", "lo", "mn", "mc", "me", "nd", "nl", "no", "pc", "pd", "ps", "pe",
    "pi", "pf", "po", "sm", "sc", "sk", "so", "zs", "zl", "zp", "cc", "cf", "co", "cn", "cs"};

/// As Unicode compares names: without case, spaces, hyphens and underscores.
std::string loose(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != ' ' && c != '_' && c != '-') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

range_set ascii(std::string_view characters) {
  range_set set;
  for (const char c : characters) set.add({static_cast<char32_t>(c), static_cast<char32_t>(c)});
  return set;
}
range_set hex_digits() {
  range_set set(U'0', U'9');
  set.add({U'a', U'f'});
  set.add({U'A', U'F'});
  return set;
}

template <class IsIn>
range_set of_category(const IsIn& is_in) {
  return range_set::of_classes([&](unicode::class_properties found) { return is_in(category_names[found.category]); });
}

std::optional<range_set> of_script(const std::string& name) {
  std::array<UScriptCode, 4> codes{};
  UErrorCode problem = U_ZERO_ERROR;
  const std::int32_t count = uscript_getCode(name.c_str(), codes.data(), codes.size(), &problem);
  if (U_FAILURE(problem) != 0 || count != 1) return std::nullopt;
  icu::UnicodeSet found;
  found.applyIntPropertyValue(UCHAR_SCRIPT, codes[0], problem);
  if (U_FAILURE(problem) != 0) return std::nullopt;
  range_set set;
  for (std::int32_t i = 0; i < found.getRangeCount(); ++i) {
    set.add({static_cast<char32_t>(found.getRangeStart(i)), static_cast<char32_t>(found.getRangeEnd(i))});
  }
  // Ideographs that came after the edition of Debian's ICU.
  if (codes[0] == USCRIPT_HAN) set.add({0x2EBF0, 0x2EE5D});
  return set;
}

std::optional<range_set> of_name(const std::string& name) {
  if (name.size() == 1 && std::string_view("lmnpszc").find(name) != std::string_view::npos) {
    return of_category([&](std::string_view each) { return each.front() == name.front(); });
  }
  static const std::array<std::pair<std::string_view, std::string_view>, 7> long_names = {{{"letter", "l"},
                                                                                           {"mark", "m"},
                                                                                           {"number", "n"},
                                                                                           {"punctuation", "p"},
                                                                                           {"symbol", "s"},
                                                                                           {"separator", "z"},
                                                                                           {"other", "c"}}};
  for (const auto& [longer, shorter] : long_names) {
    if (name == longer) return of_name(std::string(shorter));
  }
  if (std::ranges::find(category_names, name) != category_names.end()) {
    return of_category([&](std::string_view each) { return each == name; });
  }
  if (name == "word") return range_set::of_flag(unicode::regex_word);
  if (name == "space") return range_set::of_flag(unicode::regex_space);
  if (name == "digit") return of_name("nd");
  if (name == "any") return range_set(0, 0x10FFFF);
  if (name == "ascii") return range_set(0, 0x7F);
  return of_script(name);
}

}  // namespace

tl::unexpected<std::string> set_parser::wrong(const std::string& what) const {
  return tl::make_unexpected("at byte " + std::to_string(at_) + " of the expression: " + what);
}

tl::expected<char32_t, std::string> set_parser::number(std::size_t least, std::size_t most, unsigned base) {
  char32_t value = 0;
  std::size_t count = 0;
  for (; count < most && !is_done(); ++count, ++at_) {
    const char c = pattern_[at_];
    const auto letter = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    unsigned digit = base;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    if (letter >= 'a' && letter <= 'f') digit = static_cast<unsigned>(letter - 'a') + 10;
    if (digit >= base) break;
    value = value * base + digit;
  }
  if (count < least || value > 0x10FFFF) return wrong("no character has this number");
  return value;
}

tl::expected<range_set, std::string> set_parser::property(bool is_negated) {
  if (!is_at("{")) return wrong("\\p without braces is not supported");
  ++at_;
  if (is_at("^")) {
    is_negated = !is_negated;
    ++at_;
  }
  const std::size_t end = pattern_.find('}', at_);
  if (end == std::string_view::npos) return wrong("a brace is not closed");
  const std::string name(pattern_.substr(at_, end - at_));
  const auto found = of_name(loose(name));
  if (!found) return wrong("no property \"" + name + "\" is known");
  at_ = end + 1;
  return is_negated ? found->complement() : *found;
}

std::optional<range_set> set_parser::class_escape(char letter) {
  const auto negated = [&](range_set set) {
    return std::isupper(static_cast<unsigned char>(letter)) != 0 ? set.complement() : std::move(set);
  };
  switch (std::tolower(static_cast<unsigned char>(letter))) {
    case 's':
      return negated(range_set::of_flag(unicode::regex_space));
    case 'w':
      return negated(range_set::of_flag(unicode::regex_word));
    case 'd':
      return negated(*of_name("nd"));
    case 'h':
      return negated(hex_digits());
    default:
      return std::nullopt;
  }
}

/// The number behind the letter x or u.
tl::expected<char32_t, std::string> set_parser::hex_escape(bool is_short) {
  if (!is_short) return number(4, 4, 16);
  if (!is_at("{")) {
    const char32_t value = TROUPE_TRY(number(1, 2, 16));
    if (value > 0x7F) return wrong("\\x of a byte that is no character is not supported");
    return value;
  }
  ++at_;
  const char32_t value = TROUPE_TRY(number(1, 8, 16));
  if (!is_at("}")) return wrong("a brace is not closed");
  ++at_;
  return value;
}

tl::expected<range_set, std::string> set_parser::escape() {
  if (is_done()) return wrong("it ends in a backslash");
  const auto single = [](char32_t value) { return range_set(value, value); };
  const char c = pattern_[at_++];
  if (auto found = class_escape(c)) return std::move(*found);
  if (c == 'p' || c == 'P') return property(c == 'P');
  if (c == 'x' || c == 'u') return single(TROUPE_TRY(hex_escape(c == 'x')));
  static constexpr std::string_view letters = "ntrfvae";
  static constexpr std::string_view controls = "\n\t\r\f\v\a\x1B";
  if (const auto found = letters.find(c); found != std::string_view::npos) {
    return single(static_cast<char32_t>(controls[found]));
  }
  --at_;
  if (c == '0') return single(TROUPE_TRY(number(1, 3, 8)));
  if (std::isalnum(static_cast<unsigned char>(c)) != 0) return wrong(std::string("\\") + c + " is not supported");
  return single(utf8::next(pattern_, at_));
}

tl::expected<range_set, std::string> set_parser::posix_class() {
  const std::size_t end = pattern_.find(":]", at_);
  if (end == std::string_view::npos) return wrong("a class of characters is not closed");
  std::string_view name = pattern_.substr(at_, end - at_);
  const bool is_negated = name.starts_with("^");
  if (is_negated) name.remove_prefix(1);
  std::optional<range_set> found;
  if (name == "space" || name == "digit" || name == "word") found = of_name(std::string(name));
  if (name == "ascii") found = range_set(0, 0x7F);
  if (name == "xdigit") found = hex_digits();
  if (name == "blank") {
    found = of_name("zs");
    found->add(ascii("\t"));
  }
  if (!found) return wrong("[:" + std::string(name) + ":] is not supported");
  at_ = end + 2;
  return is_negated ? found->complement() : *found;
}

tl::expected<set_parser::item, std::string> set_parser::next_item(std::size_t depth) {
  if (is_at("[:")) {
    at_ += 2;
    range_set found = TROUPE_TRY(posix_class());
    return item{std::move(found), std::nullopt};
  }
  if (is_at("[")) {
    ++at_;
    range_set found = TROUPE_TRY(brackets(depth + 1));
    return item{std::move(found), std::nullopt};
  }
  range_set found;
  if (is_at("\\b")) {
    at_ += 2;
    found = range_set(U'\b', U'\b');
  } else if (is_at("\\")) {
    ++at_;
    found = TROUPE_TRY(escape());
  } else {
    const char32_t c = utf8::next(pattern_, at_);
    found = range_set(c, c);
  }
  const auto& ranges = found.ranges();
  const bool is_single = ranges.size() == 1 && ranges.front().first == ranges.front().second;
  const auto single = is_single ? std::optional(ranges.front().first) : std::nullopt;
  return item{std::move(found), single};
}

tl::expected<range_set, std::string> set_parser::union_of_items(std::size_t depth, bool& is_closed) {
  range_set all;
  bool is_first = true;
  while (!is_done()) {
    if (is_at("&&")) return all;
    if (is_at("]") && !is_first) {
      is_closed = true;
      return all;
    }
    is_first = false;
    const item from = TROUPE_TRY(next_item(depth));
    const bool is_range = from.single && is_at("-") && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
    if (!is_range) {
      all.add(from.set);
      continue;
    }
    ++at_;
    const item to = TROUPE_TRY(next_item(depth));
    if (!to.single || *to.single < *from.single) return wrong("a range of characters ends before it begins");
    all.add({*from.single, *to.single});
  }
  return wrong("a bracket is not closed");
}

tl::expected<range_set, std::string> set_parser::brackets(std::size_t depth) {
  if (depth > set_depth_max) return wrong("too many brackets inside of each other");
  const bool is_negated = is_at("^");
  if (is_negated) ++at_;
  bool is_closed = false;
  range_set all = TROUPE_TRY(union_of_items(depth, is_closed));
  while (!is_closed) {
    if (!is_at("&&")) return wrong("a bracket is not closed");
    at_ += 2;
    all = all.intersection(TROUPE_TRY(union_of_items(depth, is_closed)));
  }
  ++at_;
  return is_negated ? all.complement() : all;
}

}  // namespace troupe::regex
