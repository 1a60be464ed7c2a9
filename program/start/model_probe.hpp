#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "program/start/probe_report.hpp"
#include <troupe/error.hpp>
#include <troupe/log_record.hpp>

namespace troupe {

class fork_server;

struct probe_request {
  /// Name of the run in errors: the path of its model, or "topology".
  std::string what;
  /// Time limit for each start of the process, from fork to exit; greater than 0.
  std::chrono::milliseconds patience{};
  /// Gets each line that the process prints, and a warning when it is started again. Called by one thread at a time,
  /// not after probe_in_process() has returned; may be empty.
  log_function log;
  /// probe_environment::spans_nodes.
  bool spans_nodes = false;
  /// The fork server of this program; null: the program is executed.
  std::shared_ptr<fork_server> from = nullptr;
  /// Variables that the process has besides.
  std::vector<std::pair<std::string, std::string>> environment = {};
};

/// Sends the first micro-batch through all stages (the probe) in a child process, so that a crash of the model and its
/// memory stay there. The child is this program with the same arguments and a variable in its environment
/// (probe_environment.hpp). It executes main() up to the run, where serve_if_asked() computes the probe and exits.
/// Blocks until the report arrives; the child has ended when this returns. A child that is ended by SIGKILL or SIGTERM,
/// which models do not send, is started again: limits::probe_attempts_max starts, the first included.
/// Errors: those in the child's report. E0215: it crashed during the probe, passed the time limit at any point, or was
/// killed at every start. E0607: `stop` was requested. E0614: it could not be started, or ended before
/// serve_if_asked(). E0702: the report is malformed.
[[nodiscard]] expected<probe_report> probe_in_process(const probe_request& request, const std::stop_token& stop);

}  // namespace troupe
