#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <troupe/error_code.hpp>
#include <troupe/options.hpp>

namespace troupe {

enum class option_kind : std::uint8_t {
  text,
  count,          ///< whole number in [minimum, maximum]
  count_or_auto,  ///< the same, or the word auto
  seconds,        ///< real number in [minimum, maximum], most often of seconds
  list,           ///< names; in text separated by commas
  faults,         ///< texts of faults; in text separated by semicolons, on a command line a flag for each
  toggle,
};

/// What an option can hold: nothing (auto, or not asked for), toggle, count, seconds, text, list or faults.
using option_value = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// Why a value cannot be: "4097, expected a whole number from 1 to 1024".
struct value_problem {
  std::string cause;
  /// Set where something better can be said than the option's example.
  std::string fix;
  /// What it is where the value does not stand in a file: E0103, or E0102 for a name that does not exist.
  error_code code = error_code::value_out_of_range;
};

/// One option of an evaluation. The table of them is the only list: TOML keys, TROUPE_* variables, flags, print-config,
/// the config of result.json and docs/config.md follow from it. The defaults are those of eval_options.
struct option {
  std::string_view name;  ///< as in TOML: micro_batch
  option_kind kind;
  std::string_view value_name;  ///< as in --help: B
  double minimum;
  double maximum;
  std::string_view example;  ///< as text: 64
  std::string_view help;
  option_value (*get)(const eval_options&);
  /// `value` has passed check_value.
  void (*set)(eval_options&, const option_value& value);
  /// What kind and range do not say: names. Null where there is nothing more to check.
  void (*check)(const option_value& value, std::vector<value_problem>& problems);
};

/// In the order of docs and help.
std::span<const option> all_options();
/// Null if there is none of that name.
const option* find_option(std::string_view name);
std::vector<std::string> option_names();

/// "--micro-batch", "TROUPE_MICRO_BATCH".
std::string flag_name(const option& option);
std::string variable_name(const option& option);
/// "a whole number from 1 to 1024".
std::string expected_text(const option& option);
option_value default_value(const option& option);

}  // namespace troupe
