#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include <unistd.h>

#include "actors/workers/worker_actor.hpp"
#include "program/launch/launched_nodes.hpp"
#include "program/launch/process_context.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/model/first_use.hpp"
#include "runtime/os/standard_descriptors.hpp"
#include "runtime/process/error_line.hpp"
#include "runtime/process/fork_server.hpp"
#include "runtime/process/probe_environment.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include <troupe/program.hpp>

namespace troupe {
namespace {

/// Memory between processes that may not grow (ulimit -f) is E0614, and no signal. A handler of the program's own
/// stays.
void ignore_file_size_signal() {
  struct sigaction now {};
  if (::sigaction(SIGXFSZ, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) ::signal(SIGXFSZ, SIG_IGN);
}

/// Nothing has started this process but its user, or a launcher.
bool is_driver() {
  return std::getenv(worker_variable) == nullptr && std::getenv(probe_variable) == nullptr;
}

/// Copies return, too. A launched driver waits for its nodes, while the fork server gets ready.
std::shared_ptr<fork_server> make_fork_server(bool is_launched) {
  const auto when = is_launched ? fork_server_preparation::at_once : fork_server_preparation::for_first_copy;
  return fork_server::fork_here(when, &warm_up_libtorch);
}

/// Ends the process where it cannot become what its environment says.
process_context find_context() {
  process_context made{.has_program = true};
  serve_fork_server_if_asked(&warm_up_libtorch);
  auto launch = take_launch_environment();
  if (!launch) end_worker(launch.error());
  if (is_driver()) made.from = make_fork_server(launch->has_value());
  if (!is_driver()) launch->reset();  // a copy
  auto worker = take_worker_environment();
  if (!worker) end_worker(worker.error());
  made.worker = *worker;
  const auto probes = take_probe_environment();
  if (!probes) end_worker(probes.error());
  made.is_probe = probes->has_value();
  if (*worker || *probes) {
    tell_starter_errors();
    if (const char* file = std::getenv(state_variable)) made.state_file = file;
    ::unsetenv(state_variable);
  }
  made.spans_nodes = *launch || (*worker && (*worker)->network != 0) || (*probes && (*probes)->spans_nodes);
  if (!*launch) return made;
  auto open = launched_nodes::open(**launch, std::make_shared<tensor_codec>());
  if (!open) end_worker(open.error());
  made.launch = *open;
  return made;
}

}  // namespace

program::program(int, char**) {
  if (exists()) return;
  reserve_standard_descriptors();
  ignore_file_size_signal();
  process_context::tell(find_context());
}

const worker_environment* program::worker() {
  const auto& worker = process_context::of_this_process().worker;
  return worker ? &*worker : nullptr;
}

bool program::is_probe() {
  return process_context::of_this_process().is_probe;
}

bool program::exists() {
  return process_context::of_this_process().has_program;
}

}  // namespace troupe
