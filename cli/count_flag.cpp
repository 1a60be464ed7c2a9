#include "count_flag.hpp"

#include "messages/limits.hpp"
#include "runtime/config/setting.hpp"

namespace troupe::cli {
namespace {

expected<option_value> read_flag(const option& described, std::string_view text) {
  const auto value = parse_value(described, text);
  const origin from{origin_kind::flag, flag_name(described)};
  if (!value) return bad_value(described, value.error(), from);
  if (const auto problem = check_range(described, *value)) return bad_value(described, *problem, from);
  return *value;
}

expected<std::uint64_t> read_whole(std::string_view name, std::string_view text, double minimum, double maximum) {
  const option counted{name, option_kind::count, "N", minimum, maximum, "4", "", nullptr, nullptr, nullptr};
  return read_flag(counted, text).map([](const option_value& value) {
    return static_cast<std::uint64_t>(std::get<std::int64_t>(value));
  });
}

template <class Unit>
expected<std::chrono::milliseconds> read_time(std::string_view name, std::string_view text, std::string_view unit,
                                              double minimum) {
  constexpr double maximum = limits::deadline_seconds_max * Unit::den / Unit::num;
  const option timed{name, option_kind::seconds, unit, minimum, maximum, "60", "", nullptr, nullptr, nullptr};
  return read_flag(timed, text).map([](const option_value& value) {
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double, Unit>(std::get<double>(value)));
  });
}

}  // namespace

expected<std::uint64_t> read_count(std::string_view name, std::string_view text, double maximum) {
  return read_whole(name, text, 1, maximum);
}

expected<std::uint64_t> read_number(std::string_view name, std::string_view text, double maximum) {
  return read_whole(name, text, 0, maximum);
}

expected<std::chrono::milliseconds> read_seconds(std::string_view name, std::string_view text, double minimum) {
  return read_time<std::ratio<1>>(name, text, "SECONDS", minimum);
}

expected<double> read_real(std::string_view name, std::string_view text, double minimum, double maximum) {
  const option real{name, option_kind::seconds, "NUMBER", minimum, maximum, "0.1", "", nullptr, nullptr, nullptr};
  return read_flag(real, text).map([](const option_value& value) { return std::get<double>(value); });
}

expected<std::chrono::milliseconds> read_minutes(std::string_view name, std::string_view text) {
  return read_time<std::ratio<60>>(name, text, "MINUTES", limits::deadline_seconds_min);
}

}  // namespace troupe::cli
