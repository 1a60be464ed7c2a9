#include "runtime/config/resolve.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/config/data_overrides.hpp"
#include "runtime/config/deepspeed_config.hpp"
#include "runtime/config/option_names.hpp"
#include "runtime/suggest/suggest.hpp"

extern char** environ;  // POSIX: declared by no header without _GNU_SOURCE.

namespace troupe {
namespace {

constexpr std::string_view config_variable = "TROUPE_CONFIG";

/// Variables that name no option: of users, then what a run gives its own processes, then of build and tests.
constexpr std::array<std::string_view, 16> other_variables = {
    "TROUPE_DATA_DIR",   "TROUPE_TORCH_ROOT",  "TROUPE_CACHE_DIR",       "TROUPE_FILES",
    "TROUPE_LAUNCH",     "TROUPE_WORKER",      "TROUPE_PROBE",           "TROUPE_FORK_SERVER",
    "TROUPE_ERROR_LINE", "TROUPE_BASE",        "TROUPE_SOURCE_DIR",      "TROUPE_BINARY_DIR",
    "TROUPE_KILL_SEEDS", "TROUPE_FAULT_SEEDS", "TROUPE_SIMULATION_SEED", "TROUPE_STATE"};
constexpr std::string_view test_prefix = "TROUPE_TEST_";

bool names_no_option(std::string_view variable) {
  return variable.starts_with(test_prefix) || std::ranges::find(other_variables, variable) != other_variables.end();
}

const std::string* find_value(const std::vector<std::pair<std::string, std::string>>& pairs, std::string_view name) {
  for (const auto& [key, value] : pairs) {
    if (key == name && !value.empty()) return &value;
  }
  return nullptr;
}

void put_in_force(const std::vector<setting>& settings, resolved_options& into) {
  for (const setting& each : settings) {
    each.target->set(into.options, each.value);
    if (each.target->kind == option_kind::faults) into.options.run.faults.written_at(each.places);
    into.origins.insert_or_assign(std::string(each.target->name), each.from);
    if (each.target->name != "optimize") continue;
    if (const auto& name = std::get<std::string>(each.value); is_former_optimize_name(name))
      into.warnings.push_back(
          fmt::format("{}: optimize = {} is called graph now, and does the same", each.from.where, name));
  }
}

/// The last one given; nothing where it is not.
const setting* find_setting(const std::vector<setting>& settings, std::string_view name) {
  const auto found =
      std::find_if(settings.rbegin(), settings.rend(), [&](const setting& each) { return each.target->name == name; });
  return found == settings.rend() ? nullptr : &*found;
}

/// Replicas are no part of the file. A micro-batch that is given elsewhere stands in for one that the file leaves open,
/// as an argument of the Trainer of transformers does.
expected<void> put_in_force(const deepspeed_config& file, const std::vector<setting>& stronger,
                            resolved_options& into) {
  put_in_force(file.settings, into);
  std::ranges::copy(file.warnings, std::back_inserter(into.warnings));
  if (!file.batch.suffice() && find_setting(stronger, "micro_batch") != nullptr) return {};
  const setting* const replicas = find_setting(stronger, "replicas");
  const batch_sizes sizes = TROUPE_TRY(batch_of(file, replicas ? std::get<std::int64_t>(replicas->value) : 1));
  put_in_force({micro_batch_setting(file, sizes)}, into);
  return {};
}

expected<std::vector<setting>> read_environment(const option_sources& sources) {
  std::vector<setting> settings;
  for (const option& target : all_options()) {
    const std::string name = variable_name(target);
    const std::string* text = find_value(sources.environment, name);
    if (text == nullptr) continue;
    auto read = TROUPE_TRY(parse_setting(target, *text, {origin_kind::environment, name}));
    settings.push_back(std::move(read));
  }
  return settings;
}

expected<std::vector<setting>> read_flags(const option_sources& sources) {
  std::vector<setting> settings;
  for (const auto& [name, text] : sources.flags) {
    const option& target = *find_option(name);
    auto read = TROUPE_TRY(parse_setting(target, text, {origin_kind::flag, flag_name(target)}));
    settings.push_back(std::move(read));
  }
  return settings;
}

expected<void> put_data_flags_in_force(const std::vector<std::pair<std::string, std::string>>& flags,
                                       resolved_options& into) {
  origin& from = into.origins.find("data")->second;
  into.options.data = TROUPE_TRY(with_data_flags(into.options.data, from, flags));
  for (const auto& [name, text] : flags) from.where += ", " + data_flag_name(name);
  return {};
}

std::vector<std::string> unknown_variables(const option_sources& sources) {
  std::vector<std::string> known = {std::string(config_variable)};
  for (const option& each : all_options()) known.push_back(variable_name(each));
  std::vector<std::string> warnings;
  for (const auto& [name, value] : sources.environment) {
    if (value.empty() || names_no_option(name) || std::ranges::find(known, name) != known.end()) continue;
    const auto near = suggest(name, known);
    warnings.push_back(near ? fmt::format("the variable {} is ignored; did you mean {}?", name, *near)
                            : fmt::format("the variable {} is ignored: there is no such option", name));
  }
  std::sort(warnings.begin(), warnings.end());
  return warnings;
}

}  // namespace

expected<resolved_options> resolve_options(const option_sources& sources) {
  resolved_options resolved;
  for (const option& each : all_options()) resolved.origins.emplace(each.name, origin{});
  const std::string* path =
      sources.config_path ? &*sources.config_path : find_value(sources.environment, config_variable);
  std::optional<deepspeed_config> deepspeed;
  if (path != nullptr && names_deepspeed_config(*path)) {
    deepspeed = TROUPE_TRY(read_deepspeed_config(*path));
  } else if (path != nullptr) {
    const auto settings = TROUPE_TRY(read_config(*path));
    put_in_force(settings, resolved);
  }
  auto stronger = TROUPE_TRY(read_environment(sources));
  auto flags = TROUPE_TRY(read_flags(sources));
  std::ranges::move(flags, std::back_inserter(stronger));
  if (deepspeed) {
    TROUPE_TRY(put_in_force(*deepspeed, stronger, resolved));
  }
  put_in_force(stronger, resolved);
  TROUPE_TRY(put_data_flags_in_force(sources.data_flags, resolved));
  for (std::string& each : unknown_variables(sources)) resolved.warnings.push_back(std::move(each));
  return resolved;
}

std::vector<std::pair<std::string, std::string>> troupe_environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with("TROUPE_") || equals == std::string_view::npos) continue;
    variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

std::uint32_t resolve_threads(const eval_options& options, std::uint32_t cores) {
  if (options.run.threads) return *options.run.threads;
  const std::uint32_t engines = std::max<std::uint32_t>(1, options.stages * options.replicas);
  return std::clamp<std::uint32_t>(cores / engines, 1, limits::threads_max);
}

}  // namespace troupe
