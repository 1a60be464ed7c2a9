#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/edge/arrival_faults.hpp"
#include "runtime/inject/message_trigger.hpp"

namespace troupe {

using message_triggers = std::vector<std::shared_ptr<message_trigger>>;

/// Changes bytes of a message: corrupt and truncate.
[[nodiscard]] bool damages_bytes(const fault& one);
/// Is about the connection, not about a message: half_open and close. The message that it hits is the last, or nearly,
/// before it; the connection that replaces this one is whole.
[[nodiscard]] bool is_of_connection(const fault& one);

/// What a plan does to one edge or link at one of its ends. Threads: any.
class connection_faults final : public arrival_faults {
 public:
  /// `triggers` are asked with each message that next_message() counts. `forward`: fault_direction::forward, as this
  /// end sees it.
  connection_faults(message_triggers triggers, flow forward);

  [[nodiscard]] damage next_message() noexcept override;
  [[nodiscard]] bool is_silenced(flow way) const noexcept override;
  [[nodiscard]] bool is_closed(flow way) const noexcept override;

  /// A fault of connections hits this one now.
  void begin(const fault& what);

 private:
  using time_point = std::chrono::steady_clock::time_point;
  struct one_way {
    time_point silent_until{};
    bool is_closed = false;
  };

  [[nodiscard]] one_way state_of(flow way) const noexcept;

  const message_triggers triggers_;
  const flow forward_;
  mutable std::mutex mutex_;
  std::array<one_way, 2> ways_;
};

}  // namespace troupe
