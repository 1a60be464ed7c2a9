#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "actors/workers/worker_setup.hpp"
#include "runtime/process/worker_host.hpp"
#include "runtime/topology/wiring_plan.hpp"

namespace troupe {

/// Where the workers of one run live: this host alone, or the nodes of the launch that this driver is a part of.
struct run_hosts {
  std::vector<std::shared_ptr<worker_host>> all;
  /// Position in `all` where the next worker of a replica is to live. E0618 where its node is lost and no other can
  /// take it.
  std::function<expected<std::size_t>(stage_address at)> find;

  /// Null without a launch. fault_injector::actions::hurt_node.
  std::function<bool(const fault& what)> hurt_node = {};

  /// Null without a launch. Connections of strangers that the driver refused lately, as the end of a cause: "; ...", or
  /// empty.
  std::function<std::string()> refused_lately = {};

  /// worker_host::refresh_telemetry() of all of them.
  void refresh_telemetry(std::chrono::steady_clock::time_point deadline) const;
  /// worker_host::close(), and stop() at the same time, of all of them.
  void close() noexcept;
  [[nodiscard]] bool stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace);
};

/// Ends all workers of a run that was asked to stop, and waits until it has: `stopped` is ready. Who has not stopped in
/// order limits::worker_reap_time before `deadline` is killed. A killed worker is waited for however late the system
/// ends it, up to limits::worker_reap_time_at_exit, so that false means that a stage of this process is stuck.
[[nodiscard]] bool end_workers(run_hosts& hosts, const std::future<void>& stopped,
                               std::chrono::steady_clock::time_point deadline);

class launched_nodes;

/// On this host, or on the nodes of `launch`. In a launch it waits until all nodes have joined, but for those that will
/// not and whose stages others can take, and have worker_setup::files. `log` as local_host_options has it. E0614; in a
/// launch also E0103 where stages are more than slots, E0611, E0617, E0618.
[[nodiscard]] expected<run_hosts> open_hosts(launched_nodes* launch, const wiring_plan& plan,
                                             const worker_setup& workers, log_function log);

}  // namespace troupe
