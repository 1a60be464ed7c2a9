#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include <unistd.h>

#include "actors/workers/worker_actor.hpp"
#include "program/launch/launched_nodes.hpp"
#include "program/launch/process_role.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/model/first_use.hpp"
#include "runtime/os/standard_descriptors.hpp"
#include "runtime/process/error_line.hpp"
#include "runtime/process/nursery.hpp"
#include "runtime/process/probe_environment.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include <troupe/program.hpp>

namespace troupe {
namespace {

struct process_role {
  bool known = false;
  std::optional<worker_environment> worker;
  bool probes = false;
  bool spans_nodes = false;
};

process_role& role() {
  static process_role of_this_process;
  return of_this_process;
}

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

/// Copies return, too. A launched driver waits for its nodes, while the nursery gets ready.
void make_nursery(bool is_launched) {
  const auto when = is_launched ? nursery_preparation::at_once : nursery_preparation::for_first_copy;
  own_nursery() = nursery::fork_here(when, &warm_up_libtorch);
}

}  // namespace

program::program(int, char**) {
  if (std::exchange(role().known, true)) return;
  reserve_standard_descriptors();
  ignore_file_size_signal();
  serve_nursery_if_asked(&warm_up_libtorch);
  auto launch = take_launch_environment();
  if (!launch) end_worker(launch.error());
  if (is_driver()) make_nursery(launch->has_value());
  if (!is_driver()) launch->reset();  // a copy
  auto worker = take_worker_environment();
  if (!worker) end_worker(worker.error());
  role().worker = *worker;
  const auto probes = take_probe_environment();
  if (!probes) end_worker(probes.error());
  role().probes = probes->has_value();
  if (*worker || *probes) tell_starter_errors();
  role().spans_nodes = *launch || (*worker && (*worker)->network != 0) || (*probes && (*probes)->spans_nodes);
  if (!*launch) return;
  if (auto open = launched_nodes::open(**launch, std::make_shared<tensor_codec>()); !open) end_worker(open.error());
}

bool spans_nodes() noexcept {
  return role().spans_nodes;
}

const worker_environment* program::worker() {
  return role().worker ? &*role().worker : nullptr;
}

bool program::is_probe() {
  return role().probes;
}

bool program::exists() {
  return role().known;
}

}  // namespace troupe
