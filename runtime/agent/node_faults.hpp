#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "messages/agent.hpp"
#include "runtime/agent/agent_workers.hpp"
#include "runtime/link/message_link.hpp"

namespace troupe {

/// Does to this process, and to its workers where the order says so, what a fault plan wants of its node. Threads: one.
class node_faults {
 public:
  explicit node_faults(std::shared_ptr<message_link> driver) : driver_(std::move(driver)) {}

  /// Returns after a freeze, and at once where the node is cut off; not after a kill. E0614; E0702 for an order that
  /// cannot be.
  [[nodiscard]] expected<void> apply(const apply_fault& what, const agent_workers& workers);

 private:
  class silence;
  void cut_off(const std::vector<hosted_worker_ptr>& with, std::chrono::milliseconds time);

  const std::shared_ptr<message_link> driver_;
  /// The silence of its link, made the first time.
  std::shared_ptr<silence> silence_;
};

}  // namespace troupe
