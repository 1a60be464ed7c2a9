#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/agent_host/node_agent.hpp"
#include "runtime/process/worker_host.hpp"
#include "runtime/telemetry/shared_page.hpp"

namespace troupe {

/// A worker on a node behind its agent: all of hosted_worker goes over the agent's link. hand_over() returns before the
/// worker has anything; one that takes nothing is killed by its agent. Its page is one of this process that stands for
/// the page there: it can be handed to workers of the same node alone, and nothing is read in it.
class agent_worker final : public hosted_worker, public std::enable_shared_from_this<agent_worker> {
 public:
  /// True once its run ends, and its end with it (worker_host::close()).
  using run_state = std::shared_ptr<const std::atomic<bool>>;
  agent_worker(std::uint32_t rank, log_function log, const std::shared_ptr<node_agent>& agent, blob page,
               std::shared_ptr<worker_listener> listener, run_state run);
  ~agent_worker() override;

  [[nodiscard]] std::string place() const override;
  [[nodiscard]] std::optional<std::uint32_t> pid() const override;
  void send(codec::bytes message) override;
  [[nodiscard]] expected<void> hand_over(const std::string& name, std::span<const blob> blobs) override;
  [[nodiscard]] expected<std::size_t> read_back(const blob& what, std::uint64_t offset,
                                                std::span<std::byte> into) override;
  [[nodiscard]] stage_telemetry telemetry() const override;
  [[nodiscard]] std::optional<blob> page() const override { return page_; }
  /// The agent is told; true is no promise that it finds the process.
  [[nodiscard]] bool signal(int number) override;

  // --- news from the agent: on the thread of its link ---

  /// 0: its agent does not know it, as it had ended by then.
  void started(std::uint32_t pid);
  void said(codec::bytes message);
  void link_lost();
  void measured(const stage_telemetry& seen);
  void logged(log_level level, std::string text) const { say(level, std::move(text)); }
  /// Once, and nothing after it.
  void ended(const exit_report& report);

 private:
  void end_now() override;

  /// Owns this worker until its end.
  const std::weak_ptr<node_agent> agent_;
  const blob page_;
  const std::shared_ptr<worker_listener> listener_;
  const run_state run_;
  mutable std::mutex mutex_;
  std::optional<std::uint32_t> pid_;
  stage_telemetry telemetry_;
  bool has_ended_ = false;
};

}  // namespace troupe
