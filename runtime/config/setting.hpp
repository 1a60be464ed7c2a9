#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/option_table.hpp"
#include "runtime/config/value.hpp"
#include <troupe/error.hpp>

namespace troupe {

enum class origin_kind : std::uint8_t { default_value, file, environment, flag };

/// Where a value came from.
struct origin {
  origin_kind kind = origin_kind::default_value;
  /// "default", "run.toml:3:10", "TROUPE_THREADS", "--threads".
  std::string where = "default";
};

/// One checked value for one option.
struct setting {
  const option* target = nullptr;
  option_value value;
  origin from;
  /// The place of each fault: "run.toml:4:1", or "--fault (2 of 3)". Empty for other options.
  std::vector<std::string> places = {};
};

/// Checks the value; an error names the origin and how to write it right there. Values from a file are bad input
/// (E0404), others are usage errors (E0102, E0103). An empty text, or one empty name, that was given anywhere is bad
/// also where the default is empty.
expected<setting> make_setting(const option& target, const option_value& value, const origin& from);
/// The same for a value in text, as flags and environment have it.
expected<setting> parse_setting(const option& target, std::string_view text, const origin& from);
/// What both answer for a bad value.
tl::unexpected<error> bad_value(const option& target, const value_problem& problem, const origin& from);

}  // namespace troupe
