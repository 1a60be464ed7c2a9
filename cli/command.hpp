#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/error_code.hpp>

namespace troupe::cli {

/// Words of a command line.
using arguments = std::vector<std::string>;

struct command {
  std::string_view name;
  std::string_view summary;
  /// `given` are the words behind the command's name. `run` prints its results on stdout and returns the exit status.
  /// An error that it returns is printed by run_program. Errors that are part of a result (a run that ended early)
  /// `run` prints itself, on stderr, and turns into its status. run_eval ends the process where a thread was left
  /// behind.
  expected<exit_status> (*run)(const arguments& given);
};

/// Runs the command that given[0] names, with the words behind it; given[0] may also be -h, --help or --version. An
/// error is printed on stderr and gives the status of its code; an exception counts as E0614 (no memory) or E0601.
/// Without any words the help goes to stderr and the status is `usage`. The settings of the process stay as they are,
/// unless the command changes them.
exit_status run_program(const arguments& given);

/// main() as a function; `given` is without the program's name. Puts something on closed standard descriptors
/// (reserve_standard_descriptors), ignores SIGPIPE and SIGXFSZ, then run_program(). Once per process, before any other
/// thread: the settings stay.
exit_status run_process(const arguments& given);

expected<exit_status> run_eval(const arguments& given);
expected<exit_status> run_train(const arguments& given);
expected<exit_status> run_chaos(const arguments& given);
expected<exit_status> run_plan(const arguments& given);
expected<exit_status> run_compare(const arguments& given);
expected<exit_status> run_watch(const arguments& given);
expected<exit_status> run_launch_command(const arguments& given);
expected<exit_status> run_agent(const arguments& given);
/// Becomes the program troupe-agent beside this one, with these arguments: it returns where that fails, E0614.
tl::unexpected<error> become_agent(const arguments& given);
expected<exit_status> run_schedule(const arguments& given);
expected<exit_status> run_simulate(const arguments& given);
expected<exit_status> run_inspect(const arguments& given);
expected<exit_status> run_score(const arguments& given);
expected<exit_status> run_explain(const arguments& given);
expected<exit_status> run_print_config(const arguments& given);
expected<exit_status> run_doctor(const arguments& given);

}  // namespace troupe::cli
