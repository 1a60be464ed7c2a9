#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/process/worker_environment.hpp"

namespace troupe {

class launched_nodes;
class fork_server;

/// The variable that tells the worker and try-out processes of an engine the file with the weights that it has loaded.
inline constexpr const char* state_variable = "TROUPE_STATE";

/// What this process is to the runs of its program: their driver, a worker, or the process that tries a run out. The
/// constructor of troupe::program finds out and tells, once. Public functions whose signature has no place for it
/// (evaluator::create(), pipeline_engine::create(), the commands of the command line) ask of_this_process() and hand it
/// on; nothing below them asks.
struct process_context {
  /// Without a troupe::program no process of this program would know that it is a worker: there can be none.
  bool has_program = false;
  /// In a worker alone.
  std::optional<worker_environment> worker = std::nullopt;
  /// The try-out process.
  bool is_probe = false;
  /// In these two: the file with the weights that the engine has loaded; empty: the model has its own.
  std::string state_file = {};
  /// The run has several nodes: in a driver that a launcher has started, in its try-out process and in its workers.
  /// They compare files by content then, as times of change differ from node to node.
  bool spans_nodes = false;
  /// What workers of this host are copied from; null: they are executed.
  std::shared_ptr<fork_server> from = nullptr;
  /// The nodes of the launch that this process is the driver of, to the end of the process; null without a launch.
  launched_nodes* launch = nullptr;

  /// Lives to the end of the process. Where no troupe::program was made: a driver on one host.
  [[nodiscard]] static const process_context& of_this_process() noexcept;
  /// Once, before there are other threads.
  static void tell(process_context made);
};

}  // namespace troupe
