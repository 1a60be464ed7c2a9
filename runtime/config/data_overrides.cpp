#include "runtime/config/data_overrides.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/data/data_specification.hpp"

namespace troupe {

std::string data_flag_name(std::string_view option) {
  const std::string name(option);
  std::string key = name;
  std::ranges::replace(key, '-', '_');
  return find_option(key) == nullptr ? "--" + name : "--data-" + name;
}

expected<std::string> with_data_flags(const std::string& data, const origin& from,
                                      const std::vector<std::pair<std::string, std::string>>& flags) {
  if (flags.empty()) return data;
  const std::string first = data_flag_name(flags.front().first);
  if (data.empty()) {
    return fail(error_code::missing_flag, first, "it says how data are read, and no data are given",
                "add --data KIND:PATH, with a kind of " + kinds_with(flags.front().first));
  }
  data_specification read = TROUPE_TRY(parse_data(data));
  for (const auto& [name, text] : flags) {
    const std::string flag = data_flag_name(name);
    const data_option* const option = find_data_option(read.kind->options, name);
    if (option == nullptr) {
      return fail(error_code::unknown_name, flag,
                  fmt::format("{}: has no such option; kinds that have it: {}", read.kind->name, kinds_with(name)),
                  "leave it out, or name data of such a kind");
    }
    if (from.kind == origin_kind::flag && read.options.has(name)) {
      return fail(error_code::flags_contradict, flag, fmt::format("{} says {}, too", from.where, name),
                  "write it once");
    }
    auto value = parse_data_flag(*option, text, flag);
    if (!value) {
      error wrong = std::move(value.error());
      if (option->form != data_value::choice && option->form != data_value::toggle)
        wrong.fix = fmt::format("write for example {} {}", flag, option->example);
      return tl::make_unexpected(std::move(wrong));
    }
    read.options.set(name, std::move(*value));
  }
  return to_string(read);
}

}  // namespace troupe
