#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/setting.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What the user gave, uninterpreted.
struct option_sources {
  /// --config; an empty optional leaves TROUPE_CONFIG in force.
  std::optional<std::string> config_path;
  /// Variables that begin with TROUPE_, without order. An empty value counts as not set.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Option name (micro_batch) and text, in the order of the command line; a later one wins.
  std::vector<std::pair<std::string, std::string>> flags;
  /// Options of the data, by their names in the tables of kinds, which belong to the data in force.
  std::vector<std::pair<std::string, std::string>> data_flags = {};
};

/// Options in force, and for each option where its value came from.
struct resolved_options {
  eval_options options;
  std::map<std::string, origin, std::less<>> origins;
  /// Variables that name no option: one line each.
  std::vector<std::string> warnings;

  [[nodiscard]] const origin& from(std::string_view name) const { return origins.find(name)->second; }
};

/// Defaults < file < TROUPE_* < flags. Every value given anywhere must be good, also one that a stronger source
/// replaces.
expected<resolved_options> resolve_options(const option_sources& sources);

/// The TROUPE_* variables of this process.
std::vector<std::pair<std::string, std::string>> troupe_environment();

/// Two options that contradict each other.
struct contradiction {
  const char* option = "";
  const char* cause = "";
  /// In code, and on a command line.
  const char* fix = "";
  const char* flag_fix = "";
};
/// The one list of them, for flags and for run_options.
std::optional<contradiction> find_contradiction(const run_options& options);

/// What concerns more than one option of a run: a trace without an output (E0104), no model or no data (E0105).
expected<void> check_together(const resolved_options& resolved);

/// E0105 without a model.
expected<void> check_model_given(const resolved_options& resolved);

}  // namespace troupe
