#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data_flags.hpp"
#include "parse.hpp"
#include "runtime/config/resolve.hpp"

namespace troupe::cli {

/// The flags of eval, plan, chaos and print-config: one for each row of the option table, one
/// for each option of a kind of data, and --config.
class option_flags {
 public:
  /// Adds the flags to `into`. Each of the two needs the other when `into` parses and when this object is asked.
  explicit option_flags(parser& into);
  /// Flags of these options alone, for a command to which the others mean nothing; files and variables that it shares
  /// with other commands may hold all.
  option_flags(parser& into, std::span<const std::string_view> taken);
  option_flags(const option_flags&) = delete;
  option_flags& operator=(const option_flags&) = delete;

  /// After parse(): file, environment and flags together. Warnings go to stderr.
  [[nodiscard]] expected<resolved_options> resolve() const;

  /// The text of one flag, if it was given.
  [[nodiscard]] std::optional<std::string> given(std::string_view name) const;

 private:
  struct flag {
    std::string name;
    std::string text;
    /// Values of an option that may be repeated.
    std::vector<std::string> texts;
  };
  void add(const option& described);

  parser& parser_;
  std::optional<data_flags> data_;                  ///< where --data is a flag
  std::map<std::string, flag, std::less<>> flags_;  ///< by the options' names
  std::string config_path_;
};

}  // namespace troupe::cli
