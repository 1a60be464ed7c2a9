#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/agent_host/node_agent.hpp"
#include "runtime/process/worker_host.hpp"

namespace troupe {

struct agent_host_options {
  std::shared_ptr<node_agent> agent;
  /// liveness::timeout of the links between the agent and its workers.
  std::chrono::milliseconds silence = limits::worker_silence_timeout;
  log_function log = nullptr;
  /// Whether the agent injects faults of control messages (start_worker::has_control_faults).
  bool has_control_faults = false;
  /// The number of the next worker, unique among all nodes.
  std::function<std::uint32_t()> next_rank;
};

/// Starts and ends the workers of one run on another node, through the agent of that node. start() returns before the
/// agent has answered, so a worker whose program cannot run is reported by worker_listener::exited(). If the node is
/// lost, all its workers have ended.
class agent_host final : public worker_host {
 public:
  explicit agent_host(agent_host_options options) : options_(std::move(options)) {}

  /// E0618 where the node is lost.
  [[nodiscard]] expected<hosted_worker_ptr> start(std::shared_ptr<worker_listener> listener) override;
  void refresh_telemetry(std::chrono::steady_clock::time_point deadline) override {
    static_cast<void>(options_.agent->refresh_telemetry(deadline));
  }
  void close() noexcept override { *closed_ = true; }
  bool stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) override;

 private:
  const agent_host_options options_;
  /// Set by close(). The workers share it: from then on their ends are not logged.
  const std::shared_ptr<std::atomic<bool>> closed_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace troupe
