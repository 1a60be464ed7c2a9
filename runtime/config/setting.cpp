#include "runtime/config/setting.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

error_code code_of(const value_problem& problem, const origin& from) {
  return from.kind == origin_kind::file ? error_code::config_bad_value : problem.code;
}

/// The option's example, spelled for the place where the value stands.
std::string example(const option& target, const origin& from) {
  if (from.kind == origin_kind::file) {
    const auto value = parse_value(target, target.example);
    return fmt::format("write for example {} = {}", target.name, value_text(target, value.value_or(option_value{})));
  }
  if (from.kind == origin_kind::environment) return fmt::format("set for example {}={}", from.where, target.example);
  if (target.kind == option_kind::toggle) return fmt::format("write {} alone", flag_name(target));
  return fmt::format("write for example {} {}", flag_name(target), target.example);
}

/// What an unset variable of a script leaves behind: --journal "$JOURNAL".
bool is_empty(const option_value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty();
  const auto* names = std::get_if<std::vector<std::string>>(&value);
  return names != nullptr && *names == std::vector<std::string>{""};
}

/// One after another; a file gives better ones.
std::vector<std::string> places_of_faults(const option_value& value, const origin& from) {
  const std::size_t count = std::get<std::vector<std::string>>(value).size();
  if (count == 1) return {from.where};
  std::vector<std::string> places;
  places.reserve(count);
  for (std::size_t i = 1; i <= count; ++i) places.push_back(fmt::format("{} ({} of {})", from.where, i, count));
  return places;
}

}  // namespace

tl::unexpected<error> bad_value(const option& target, const value_problem& problem, const origin& from) {
  const std::string where =
      from.kind == origin_kind::file ? fmt::format("{}: {}", from.where, target.name) : from.where;
  return fail(code_of(problem, from), where, problem.cause, problem.fix.empty() ? example(target, from) : problem.fix);
}

expected<setting> make_setting(const option& target, const option_value& value, const origin& from) {
  if (from.kind != origin_kind::default_value && is_empty(value)) {
    return bad_value(target, {fmt::format("is empty, expected {}", target.value_name), {}}, from);
  }
  if (const auto problem = check_value(target, value)) return bad_value(target, *problem, from);
  setting made{&target, value, from};
  if (target.kind == option_kind::faults) made.places = places_of_faults(value, from);
  return made;
}

expected<setting> parse_setting(const option& target, std::string_view text, const origin& from) {
  const auto value = parse_value(target, text);
  if (!value) return bad_value(target, value.error(), from);
  return make_setting(target, *value, from);
}

}  // namespace troupe
