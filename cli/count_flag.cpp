#include "count_flag.hpp"

#include "runtime/config/setting.hpp"

namespace troupe::cli {

expected<std::uint64_t> read_count(std::string_view name, std::string_view text, double maximum) {
  const option counted{name, option_kind::count, "N", 1, maximum, "4", "", nullptr, nullptr, nullptr};
  const auto value = parse_value(counted, text);
  const origin from{origin_kind::flag, flag_name(counted)};
  if (!value) return bad_value(counted, value.error(), from);
  if (const auto problem = check_range(counted, *value)) return bad_value(counted, *problem, from);
  return static_cast<std::uint64_t>(std::get<std::int64_t>(*value));
}

}  // namespace troupe::cli
