#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "option_flags.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "runtime/report/option_json.hpp"

namespace troupe::cli {
namespace {

bool is_unset(const option& described, const option_value& value) {
  if (value == option_value(std::string())) return true;
  return std::holds_alternative<std::monostate>(value) && described.kind != option_kind::count_or_auto;
}

/// TOML that can be read back: an option that is not set has no value in TOML and becomes a comment.
std::string toml_text(const resolved_options& resolved) {
  std::string text;
  for (const option& each : all_options()) {
    const option_value value = each.get(resolved.options);
    const std::string assignment = is_unset(each, value) ? fmt::format("# {} is not set", each.name)
                                                         : fmt::format("{} = {}", each.name, value_text(each, value));
    text += fmt::format("{:<48}  # {}\n", assignment, printable(resolved.from(each.name).where));
  }
  return text;
}

std::string json_text(const resolved_options& resolved) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const option& each : all_options()) {
    object[std::string(each.name)] = {{"value", value_json(each.get(resolved.options))},
                                      {"source", resolved.from(each.name).where}};
  }
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

expected<exit_status> run_print_config(const arguments& given) {
  parser reader("print-config",
                "Show the options in force for the same flags of eval, and where each value came from.\n"
                "Defaults are overruled by the --config file, that by TROUPE_* variables, and those by flags.",
                "  troupe print-config --config run.toml --stages 4\n"
                "  TROUPE_THREADS=1 troupe print-config > run.toml\n");
  const option_flags flags(reader);
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  const auto resolved = TROUPE_TRY(flags.resolve());
  return print(resolved.options.json ? json_text(resolved) : toml_text(resolved)).map([] { return exit_status::ok; });
}

}  // namespace troupe::cli
