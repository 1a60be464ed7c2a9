#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/error_code.hpp>

namespace troupe::cli {

/// What stands behind the name of the command.
using arguments = std::vector<std::string>;

/// One subcommand. `run` prints its results on stdout and may report with a status of its own; an error is printed by
/// run_program, with the status that belongs to its code.
struct command {
  std::string_view name;
  std::string_view summary;
  expected<exit_status> (*run)(const arguments& given);
};

std::span<const command> all_commands();

/// The whole program but for what belongs to the process: finds the command, runs it, prints its error.
exit_status run_program(const arguments& given);

/// main() as a function: what a process sets up for itself, then run_program().
exit_status run_process(const arguments& given);

expected<exit_status> run_eval(const arguments& given);
expected<exit_status> run_plan(const arguments& given);
expected<exit_status> run_schedule(const arguments& given);
expected<exit_status> run_inspect(const arguments& given);
expected<exit_status> run_explain(const arguments& given);
expected<exit_status> run_print_config(const arguments& given);
expected<exit_status> run_doctor(const arguments& given);

}  // namespace troupe::cli
