#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "beside.hpp"
#include "launch_command.hpp"
#include "launch_flags.hpp"
#include "messages/limits.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "runtime/launcher/forwarded_variables.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/launcher/shell_words.hpp"

extern char** environ;

namespace troupe::cli {
namespace {

constexpr const char* launch_examples =
    "  troupe launch --hostfile HOSTS -- troupe eval --model M.pt --data mnist:DIR --stages 4 --processes\n"
    "  troupe launch --hostfile HOSTS --include w0@w1:0,2 -- ./my_program ARGUMENT\n"
    "  troupe launch --hostfile HOSTS -- troupe chaos --model M.pt --data mnist:DIR --stages 4 --minutes 10\n"
    "  troupe launch --hostfile HOSTS --no-ssh --node-rank 1 --join-file /shared/job7 -- ./my_program\n"
    "  srun --ntasks-per-node=1 troupe launch --join-file /shared/$SLURM_JOB_ID -- ./my_program\n";

/// The words before the first "--", and those behind it.
struct divided_words {
  arguments flags;
  arguments command;
};

expected<divided_words> divide(const arguments& given) {
  const auto end = std::find(given.begin(), given.end(), "--");
  divided_words words{arguments(given.begin(), end), {}};
  if (end != given.end()) words.command.assign(end + 1, given.end());
  const bool asks_for_help = std::any_of(words.flags.begin(), words.flags.end(),
                                         [](const std::string& word) { return word == "--help" || word == "-h"; });
  if (!words.command.empty() || asks_for_help) return words;
  return fail(error_code::missing_flag, "COMMAND", "there is nothing to launch",
              "put the program and its arguments behind --, as in troupe launch --hostfile FILE -- ./my_program");
}

std::string variable_or(const char* name, const char* otherwise) {
  const char* found = std::getenv(name);
  return found != nullptr ? found : otherwise;
}

std::optional<std::string> look_up(std::string_view name) {
  const char* found = std::getenv(std::string(name).c_str());
  return found != nullptr ? std::optional<std::string>(found) : std::nullopt;
}

/// The path of a program that is to be started. `where` names the word.
expected<std::string> locate(const std::string& where, const std::string& name) {
  if (auto found = find_program(name, variable_or("PATH", "/usr/bin:/bin"))) return *found;
  return fail(error_code::value_out_of_range, where, fmt::format("no program {} is in PATH", name),
              "write its path, or install it");
}

expected<ssh_options> ssh_options_of(const launch_flags& flags, std::chrono::milliseconds join_timeout) {
  ssh_options options;
  options.agent = own_directory() + "/troupe-agent";
  options.directory = working_directory();
  options.retry_until = std::chrono::steady_clock::now() + join_timeout;
  const auto given = flags.ssh_command();
  auto words = split_at_blanks(given.value_or("ssh"));
  if (words.empty()) return fail(error_code::value_out_of_range, "--ssh", "is blank", "name a program");
  return locate(given ? "--ssh" : "ssh", words.front()).map([&](std::string&& path) {
    words.front() = std::move(path);
    options.command = given ? std::move(words) : openssh_words(std::move(words.front()), join_timeout);
    return std::move(options);
  });
}

expected<std::vector<std::pair<std::string, std::string>>> variables_of(const launch_flags& flags) {
  arguments own;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) own.emplace_back(*each);
  return collect_variables(own, variable_or("HOME", ""), working_directory(), flags.variables())
      .map([](variable_map&& all) { return std::vector<std::pair<std::string, std::string>>(all.begin(), all.end()); });
}

using agent_options = std::variant<ssh_options, join_files>;

expected<agent_options> agents_of(const launch_flags& flags, const launch_roles& plan,
                                  std::chrono::milliseconds join_timeout) {
  if (plan.part == launch_part::start_agents) {
    return ssh_options_of(flags, join_timeout).map([](ssh_options&& made) { return agent_options(std::move(made)); });
  }
  // the driver's own host needs none
  std::vector<node_slots> others;
  std::vector<std::uint32_t> ranks;
  for (std::size_t i = plan.driver_node ? 1 : 0; i < plan.nodes.size(); ++i) {
    others.push_back(plan.nodes[i]);
    ranks.push_back(plan.node_ranks.at(i));
  }
  return join_files::make(plan.join_file, others, ranks).map([](join_files&& made) {
    return agent_options(std::move(made));
  });
}

expected<exit_status> drive(const launch_flags& flags, const launch_roles& plan, const own_host& host,
                            launch_setup setup, arguments command) {
  auto program = TROUPE_TRY(locate("COMMAND", command.front()));
  command.front() = std::move(program);
  auto addresses = TROUPE_TRY(driver_addresses(flags.addresses(), plan.nodes, plan.driver_node, host));
  auto variables = TROUPE_TRY(variables_of(flags));
  setup.nodes = plan.nodes;
  setup.driver_node = plan.driver_node;
  setup.addresses = std::move(addresses);
  setup.environment = std::move(variables);
  auto agents = TROUPE_TRY(agents_of(flags, plan, setup.join_timeout));
  const auto end = TROUPE_TRY(run_launch(
      {std::move(setup), std::move(command), std::move(agents), [](const std::string& text) { say(text); }}));
  if (end.why) say_error(*end.why);
  return static_cast<exit_status>(end.status);
}

/// Ends in exec.
expected<exit_status> join(const launch_roles& plan, std::chrono::milliseconds join_timeout) {
  const auto deadline = std::chrono::steady_clock::now() + join_timeout;
  TROUPE_TRY(await_join_file(plan.join_file, plan.node, deadline));
  return become_agent({"--join-file", plan.join_file});
}

/// Agents that were started by hand join one launch.
expected<exit_status> run_chaos_over_launches(const launch_roles& plan, bool allow_shrink, const divided_words& words,
                                              const chaos_over_nodes& run_chaos) {
  if (plan.part != launch_part::start_agents) {
    return fail(error_code::flags_contradict, "troupe chaos",
                "each of its evaluations is a launch of its own, and agents that ssh does not start join one",
                "leave out --no-ssh and --join-file, or evaluate once with troupe eval --fault and once without");
  }
  return run_chaos({.launch_flags = words.flags,
                    .program = words.command.front(),
                    .nodes = plan.nodes,
                    .driver_node = plan.driver_node,
                    .allow_shrink = allow_shrink},
                   {words.command.begin() + 2, words.command.end()});
}

/// `command`, whose program was found at `path`, is the chaos of this very program.
bool is_chaos(const arguments& command, const std::string& path) {
  if (command.size() < 2 || command[1] != "chaos") return false;
  std::error_code failed;
  return std::filesystem::equivalent(path, own_directory() + "/troupe", failed) ||
         std::filesystem::equivalent(path, "/proc/self/exe", failed);
}

expected<exit_status> take_part(const launch_flags& flags, divided_words words, const chaos_over_nodes& run_chaos) {
  auto setup = TROUPE_TRY(flags.setup());
  const auto choice = TROUPE_TRY(flags.choice());
  const own_host host = read_own_host();
  const auto plan = TROUPE_TRY(decide_launch_roles(choice, look_up, host));
  const auto program = find_program(words.command.front(), variable_or("PATH", "/usr/bin:/bin"));
  if (program && is_chaos(words.command, *program) && plan.part != launch_part::nothing)
    return run_chaos_over_launches(plan, setup.allow_shrink, words, run_chaos);
  switch (plan.part) {
    case launch_part::nothing:
      say(fmt::format("troupe launch: {}\n", printable(plan.reason)));
      return exit_status::ok;
    case launch_part::await_join_file:
      return join(plan, setup.join_timeout);
    case launch_part::start_agents:
    case launch_part::write_join_files:
      break;
  }
  return drive(flags, plan, host, std::move(setup), std::move(words.command));
}

}  // namespace

expected<exit_status> run_launch_command(const arguments& given, const chaos_over_nodes& run_chaos) {
  auto words = TROUPE_TRY(divide(given));
  parser reader("launch",
                "Run a program over many nodes: troupe launch [OPTIONS] -- COMMAND [ARGUMENTS]\n"
                "COMMAND runs on this host as the driver; an agent starts its workers on every other node.",
                launch_examples);
  const launch_flags flags(reader);
  const auto read = TROUPE_TRY(parse(reader, words.flags));
  if (read == parsed::help_printed) return exit_status::ok;
  return take_part(flags, std::move(words), run_chaos);
}

}  // namespace troupe::cli
