#include "runtime/exported/size_ranges.hpp"

#include <string_view>

#include "messages/try.hpp"
#include "runtime/exported/exported_tensor.hpp"

namespace troupe {
namespace {

/// PyTorch gives each dynamic size this minimum, since it takes 0 and 1 as special; programs take 1 nevertheless.
constexpr std::int64_t min_of_any_size = 2;

/// "s77" for "Symbol('s77', positive=True, integer=True)"; nothing that is in the ranges for an expression.
std::string symbol_in(std::string_view expression) {
  constexpr std::string_view begin = "Symbol('";
  if (!expression.starts_with(begin)) return std::string(expression);
  const std::string_view rest = expression.substr(begin.size());
  if (rest.find('(') != std::string_view::npos || rest.find(')') != rest.size() - 1) return {};
  return std::string(rest.substr(0, rest.find('\'')));
}

}  // namespace

expected<size_ranges> size_ranges::read(const json_part& program) {
  size_ranges made;
  const auto all = TROUPE_TRY(program.find("range_constraints"));
  if (!all) return made;
  for (const auto& [symbol, range] : TROUPE_TRY(all->members())) {
    size_range allowed;
    if (const auto min = TROUPE_TRY(range.find("min_val"))) allowed.min = TROUPE_TRY(min->integer());
    if (const auto max = TROUPE_TRY(range.find("max_val"))) allowed.max = TROUPE_TRY(max->integer());
    if (allowed.min <= min_of_any_size) allowed.min = 0;
    made.ranges_.emplace(symbol, allowed);
  }
  return made;
}

expected<std::vector<size_range>> size_ranges::of_tensor(const json_part& meta) const {
  std::vector<size_range> sizes;
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(meta.at("sizes")).items())) {
    size_range allowed;
    if (const auto size = TROUPE_TRY(exported_size(each))) {
      allowed = {.min = *size, .max = *size};
    } else {
      const json_part expression = TROUPE_TRY(each.tagged()).value;
      const auto known = ranges_.find(symbol_in(TROUPE_TRY(TROUPE_TRY(expression.at("expr_str")).text())));
      if (known != ranges_.end()) allowed = known->second;
    }
    sizes.push_back(allowed);
  }
  return sizes;
}

}  // namespace troupe
