#include "command.hpp"

#include <array>

#include <fmt/format.h>

#include "chaos_nodes.hpp"
#include "guarded.hpp"
#include "launch_command.hpp"
#include "output.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe::cli {
namespace {

constexpr std::array commands = {
    command{"eval", "Evaluate a model on data through a pipeline of stages", &run_eval},
    command{"train", "Train a model on data through a pipeline of stages", &run_train},
    command{"plan", "Show how a model would be cut, with predicted times; start nothing", &run_plan},
    command{"score", "Score predictions that are in a file already", &run_score},
    command{"chaos", "Evaluate under faults and without, and compare the bits", &run_chaos},
    command{"compare", "Evaluate several models on the same samples, with paired differences", &run_compare},
    command{"watch", "Evaluate checkpoints as they appear in a folder, and name the best", &run_watch},
    command{"launch", "Run a program over many nodes", &run_launch_command},
    command{"agent", "Join a launch as one of its nodes", &run_agent},
    command{"schedule", "Print the instruction lists of a pipeline schedule", &run_schedule},
    command{"simulate", "Run the control plane in virtual time, under faults that seeds draw", &run_simulate},
    command{"inspect", "Show the layers of a model, or why it is no chain", &run_inspect},
    command{"explain", "Explain an error code, or list all of them", &run_explain},
    command{"print-config", "Show the options in force and where each came from", &run_print_config},
    command{"doctor", "Check this machine and installation", &run_doctor},
};

std::string help_text() {
  std::string text =
      "Troupe runs deep-learning models as pipelines of actors.\n\n"
      "Usage: troupe COMMAND [OPTIONS]\n\nCommands:\n";
  for (const command& each : commands) text += fmt::format("  {:<14}{}\n", each.name, each.summary);
  return text +
         "\nOptions:\n"
         "  -h, --help    Print this help; behind a command, the command's\n"
         "  --version     Print the version\n\n"
         "Examples:\n"
         "  troupe eval --model data/mnist/lenet.pt --data mnist:data/mnist --stages 2\n"
         "  troupe plan --model data/cifar10/resnet20.pt --stages 4\n"
         "  troupe launch --hostfile HOSTS -- troupe eval --model M.pt --data mnist:DIR --stages 4 --processes\n"
         "  troupe explain E0203\n\n"
         "Exit status: 0 ok, 1 failure, 2 usage, 3 bad input, 4 work lost, 124 deadline, 130 interrupted.\n";
}

tl::unexpected<error> unknown_command(const std::string& name) {
  std::vector<std::string> known;
  known.reserve(std::size(commands));
  for (const command& each : commands) known.emplace_back(each.name);
  if (name.starts_with("-")) {
    return fail(error_code::unknown_flag, name, "no command stands before this flag",
                "put a command first, as in troupe eval --model FILE");
  }
  return fail(error_code::unknown_flag, name, "there is no such command", suggest_fix(name, known));
}

expected<exit_status> run_named(const arguments& given) {
  const std::string& name = given.front();
  if (name == "--help" || name == "-h") return print(help_text()).map([] { return exit_status::ok; });
  if (name == "--version") return print("troupe " TROUPE_VERSION "\n").map([] { return exit_status::ok; });
  for (const command& each : commands) {
    if (name == each.name) return each.run(arguments(given.begin() + 1, given.end()));
  }
  return unknown_command(name);
}

}  // namespace

expected<exit_status> run_launch_command(const arguments& given) {
  return run_launch_command(given, &run_chaos_over);
}

exit_status run_program(const arguments& given) {
  if (given.empty()) {
    say(help_text());
    return exit_status::usage;
  }
  return run_guarded(given.front(), [&] { return run_named(given); });
}

exit_status run_process(const arguments& given) {
  settle_process();
  return run_program(given);
}

}  // namespace troupe::cli
