#include "option_words.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/config/option_table.hpp"
#include "runtime/launch/launch_environment.hpp"

namespace troupe::cli {
namespace {

struct text_of_value {
  std::optional<std::string> operator()(std::monostate) const { return std::nullopt; }
  std::optional<std::string> operator()(bool) const { return std::nullopt; }
  std::optional<std::string> operator()(const std::string& text) const { return text; }
  std::optional<std::string> operator()(const std::vector<std::string>& names) const {
    return fmt::format("{}", fmt::join(names, ","));
  }
  template <class Number>
  std::optional<std::string> operator()(Number number) const {
    return fmt::format("{}", number);
  }
};

}  // namespace

arguments words_of(const resolved_options& asked, std::span<const std::string_view> left_out) {
  arguments words;
  for (const option& each : all_options()) {
    const bool is_own = each.kind == option_kind::faults || std::ranges::find(left_out, each.name) != left_out.end();
    if (is_own || asked.from(each.name).kind == origin_kind::default_value) continue;
    const option_value value = each.get(asked.options);
    if (const auto text = std::visit(text_of_value{}, value)) {
      words.insert(words.end(), {flag_name(each), *text});
    } else if (value == option_value(true)) {
      words.push_back(flag_name(each));
    }
  }
  return words;
}

expected<void> refuse_given(const resolved_options& asked, std::span<const std::string_view> names,
                            const std::string& cause) {
  for (const std::string_view name : names) {
    const origin& from = asked.from(name);
    if (from.kind == origin_kind::default_value) continue;
    return fail(error_code::flags_contradict, from.where, cause, "leave it out");
  }
  return {};
}

expected<void> refuse_launch(const std::string& command, const std::string& fix) {
  if (std::getenv(launch_variable) == nullptr) return {};
  return fail(error_code::flags_contradict, "troupe launch",
              fmt::format("its agents join one evaluation, and {} starts several", command), fix);
}

}  // namespace troupe::cli
