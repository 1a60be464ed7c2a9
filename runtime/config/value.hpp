#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "runtime/config/option_table.hpp"

namespace troupe {

/// Between faults in one text.
inline constexpr char fault_separator = ';';

/// Reads a value as flags and environment spell it; whether it is in range is check_value's matter.
tl::expected<option_value, value_problem> parse_value(const option& option, std::string_view text);

/// Type and range alone.
std::optional<value_problem> check_range(const option& option, const option_value& value);

/// Everything that can be said about one value alone: type, range, names. Nothing if it is good.
std::optional<value_problem> check_value(const option& option, const option_value& value);

/// As TOML spells it; "none" where the option is not set, "auto" for threads. Doubles come back as the same bits.
std::string value_text(const option& option, const option_value& value);

}  // namespace troupe
