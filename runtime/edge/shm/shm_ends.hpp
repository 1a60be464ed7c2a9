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

/// Whether an end has found nonsense or a wrong checksum, and who is told.
class damage_report {
 public:
  explicit damage_report(std::function<void(const error&)> tell, std::function<void(const error&)> tell_loss = {})
      : tell_(std::move(tell)), tell_loss_(std::move(tell_loss)) {}

  [[nodiscard]] bool made() const noexcept { return made_; }
  void make(const error& found) {
    if (std::exchange(made_, true)) return;
    const auto& tell = found.code == error_code::wire_checksum && tell_loss_ ? tell_loss_ : tell_;
    if (tell) tell(found);
  }

 private:
  const std::function<void(const error&)> tell_;
  const std::function<void(const error&)> tell_loss_;
  bool made_ = false;
};

}  // namespace troupe::shm
