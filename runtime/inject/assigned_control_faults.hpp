#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "messages/worker.hpp"
#include "runtime/inject/fault_clock.hpp"
#include "runtime/inject/faulty_link.hpp"
#include "runtime/inject/run_start.hpp"
#include "runtime/telemetry/engine_page.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Injects faults of control messages on a node without the driver, into the links between its agent and its workers:
/// a message lost there is said again, as on one host (numbered_link). A worker's faults come with its assignment,
/// which the links pass, and its page is marked with what was injected. One for all workers of a run. Threads: any.
class assigned_control_faults : public std::enable_shared_from_this<assigned_control_faults> {
 public:
  /// E0614.
  [[nodiscard]] static expected<std::shared_ptr<assigned_control_faults>> start();
  assigned_control_faults(const assigned_control_faults&) = delete;
  assigned_control_faults& operator=(const assigned_control_faults&) = delete;

  /// local_host_options::around_link.
  [[nodiscard]] std::shared_ptr<message_link> wrap(std::shared_ptr<message_link> link,
                                                   const std::shared_ptr<engine_page>& page);

 private:
  /// The trigger of one fault, over all workers that have had it.
  struct shared_trigger {
    std::shared_ptr<message_trigger> trigger;
    /// The page of the newest of these workers.
    std::shared_ptr<engine_page> page;
  };

  assigned_control_faults() = default;
  [[nodiscard]] message_triggers of(const worker_assignment& to, const std::shared_ptr<engine_page>& page);
  [[nodiscard]] std::shared_ptr<message_trigger> make_trigger(std::uint32_t number, const fault& what);
  [[nodiscard]] bool may_inject(std::uint32_t number, bool once, bool first);

  const std::shared_ptr<run_start> start_ = std::make_shared<run_start>();
  std::mutex mutex_;
  std::map<std::uint32_t, shared_trigger> triggers_;
  fault_clock late_messages_;
};

}  // namespace troupe
