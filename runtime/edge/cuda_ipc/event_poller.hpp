#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/device/device_context.hpp"
#include "runtime/edge/doorbell.hpp"

namespace troupe::ipc {

/// Devices ring no bell: a thread that looks at what they have done, while something is under way, and else sleeps.
/// Nothing waits for it. Threads: any.
class event_poller {
 public:
  /// Called on the poller's thread now and then. True: over, and done with what was to be done. What it holds is
  /// destroyed then, on the same thread. It must not hold the poller.
  using look = std::function<bool()>;
  enum class pace : std::uint8_t {
    device,  ///< the device is at it
    peer,    ///< another process may take long, or never come to it
  };

  /// E0614, and what device_context::enter_thread() fails with.
  [[nodiscard]] static expected<std::shared_ptr<event_poller>> open(std::shared_ptr<device_context> device);
  /// Waits for what the device is at, up to limits::ipc_stop_timeout; drops the rest.
  ~event_poller();
  event_poller(const event_poller&) = delete;
  event_poller& operator=(const event_poller&) = delete;

  void add(look at, pace how);
  /// For tests: the device is at nothing that was to be looked at.
  [[nodiscard]] bool is_idle() const noexcept { return at_device_.load(std::memory_order_acquire) == 0; }

 private:
  struct watch {
    look at;
    pace how;
  };
  event_poller() = default;
  void run();
  void take_new();
  void look_at_all();
  void rest(std::uint32_t seen);

  doorbell bell_;
  std::mutex guard_;
  std::vector<watch> new_;
  /// The thread's alone.
  std::vector<watch> watches_;
  /// Those at pace::device, new ones too.
  std::atomic<std::size_t> at_device_{0};
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace troupe::ipc
