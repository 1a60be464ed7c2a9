#include "runtime/data/shard_names.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "messages/try.hpp"
#include "runtime/suggest/read_text.hpp"

namespace troupe {

namespace {

struct number_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t digits = 0;
};

std::optional<std::uint64_t> shard_number(std::string_view text) {
  constexpr std::size_t digits_max = 18;
  return text.size() > digits_max ? std::nullopt : number_in<std::uint64_t>(text);
}

std::optional<number_range> shard_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view first = text.substr(0, dots);
  const std::string_view last = text.substr(dots + 2);
  const auto from = shard_number(first);
  const auto to = shard_number(last);
  if (!from || !to) return std::nullopt;
  const auto is_padded = [](std::string_view digits) { return digits.size() > 1 && digits.front() == '0'; };
  const bool has_width = is_padded(first) || is_padded(last);
  return number_range{*from, *to, has_width ? std::max(first.size(), last.size()) : 0};
}

std::vector<std::string> shard_numbers(const number_range& range) {
  std::vector<std::string> all;
  const bool is_rising = range.first <= range.last;
  const std::uint64_t count = (is_rising ? range.last - range.first : range.first - range.last) + 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string number = std::to_string(is_rising ? range.first + i : range.first - i);
    number.insert(0, range.digits - std::min(range.digits, number.size()), '0');
    all.push_back(std::move(number));
  }
  return all;
}

tl::unexpected<error> refused_braces(const std::string& specification, std::string cause, std::string fix) {
  return fail(error_code::value_out_of_range, specification, std::move(cause), std::move(fix));
}

/// Each name with each text behind it.
std::vector<std::string> names_with(const std::vector<std::string>& names, const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  all.reserve(names.size() * texts.size());
  for (const std::string& name : names) {
    for (const std::string& text : texts) all.push_back(name + text);
  }
  return all;
}

}  // namespace

expected<std::vector<std::string>> expand_shards(const std::string& pattern, const std::string& specification) {
  std::vector<std::string> names(1);
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::size_t open = rest.find_first_of("{}");
    names = names_with(names, {std::string(rest.substr(0, open))});
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find('}', open);
    const auto range = rest[open] == '{' && close != std::string_view::npos
                           ? shard_range(rest.substr(open + 1, close - open - 1))
                           : std::nullopt;
    if (!range) {
      return refused_braces(specification, "expected braces with two whole numbers inside, as in {000..004}",
                            "write them so, or rename files that have a brace in their name");
    }
    const std::uint64_t count = std::max(range->first, range->last) - std::min(range->first, range->last) + 1;
    if (count > shards_max || count * names.size() > shards_max) {
      return refused_braces(specification, "the braces stand for more than " + std::to_string(shards_max) + " files",
                            "name fewer at a time");
    }
    names = names_with(names, shard_numbers(*range));
    rest.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace troupe
