#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/launch/launch_setup.hpp"
#include "runtime/launcher/join_files.hpp"
#include "runtime/launcher/ssh_agents.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A launch: what to tell the driver, what to start as the driver, and how agents come to be.
struct launch_request {
  launch_setup setup;
  /// With the path of the program in front, which find_program() has found.
  std::vector<std::string> command;
  std::variant<ssh_options, join_files> agents;
  /// Takes text for stderr, from any thread; must not wait long.
  std::function<void(const std::string&)> say;
};

struct launch_end {
  /// The driver's exit status; 128 + N where signal N has killed it. Never 0 where the launch has failed.
  int status = 1;
  /// What the driver has not said itself, or said before other lines: to be said last.
  std::optional<error> why;
};

/// Starts the driver, gives it agents as it asks for them, and returns when all processes that it has started have
/// ended. The driver has this process's stdout and stderr, and its stdin unless that is a terminal, which it could not
/// read in a process group of its own. What ssh and agents write goes to `say`, line by line, with the node in front.
///
/// SIGINT, SIGTERM and SIGHUP go to the driver, the last one as SIGTERM; it is killed `grace` after the first one, or
/// by the third one. When the driver has ended, agents have limits::launch_leave_time to leave. When this process is
/// killed, the kernel kills driver and ssh, and so closes the agents' input.
///
/// Once per process, which ignores SIGPIPE, from a thread that is the only one. Errors: E0614 where the driver cannot
/// be started or the system gives too little; E0103 as encode().
[[nodiscard]] expected<launch_end> run_launch(launch_request request);

}  // namespace troupe
