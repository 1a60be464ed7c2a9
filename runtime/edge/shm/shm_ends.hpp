#pragma once

#include <functional>
#include <utility>

#include "runtime/edge/shm/shm_control.hpp"
#include "runtime/edge/shm/shm_edge.hpp"
#include "runtime/edge/shm/shm_message.hpp"

/// What the two ends of a shm edge share. Not for users: shm_edge.hpp is the interface.
namespace troupe::shm {

/// Memory from a peer, checked, and its control part.
struct opened_edge {
  shared_memory memory;
  control_view shared;
};
[[nodiscard]] expected<opened_edge> open_edge(unique_fd descriptor);

/// Whether an end has found nonsense, and who is told.
class damage_report {
 public:
  explicit damage_report(std::function<void(const error&)> tell) : tell_(std::move(tell)) {}

  [[nodiscard]] bool made() const noexcept { return made_; }
  void make(const error& found) {
    if (!std::exchange(made_, true) && tell_) tell_(found);
  }

 private:
  const std::function<void(const error&)> tell_;
  bool made_ = false;
};

}  // namespace troupe::shm
