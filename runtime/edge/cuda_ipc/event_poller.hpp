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

/// A thread that polls for the end of work on a device, since a device cannot ring a doorbell. It sleeps while there is
/// nothing to poll for. No other thread waits for it, except in the destructor. Threads: any.
class event_poller {
 public:
  /// Called on the poller's thread again and again until it returns true: what it polls for has happened, and it has
  /// done what was to follow. It is then destroyed on the same thread, so it must not own the poller.
  using check = std::function<bool()>;
  /// What a check polls for, and so how often it is called at least.
  enum class pace : std::uint8_t {
    device,  ///< work of the device, which ends soon: every limits::ipc_look_interval
    peer,    ///< another process, which may take long or never act: every limits::ipc_linger_look_interval
  };

  /// E0614, and the errors of device_context::enter_thread().
  [[nodiscard]] static expected<std::shared_ptr<event_poller>> open(std::shared_ptr<device_context> device);
  /// Waits until no check at pace::device is left, at most limits::ipc_stop_timeout. Then drops all that are left.
  ~event_poller();
  event_poller(const event_poller&) = delete;
  event_poller& operator=(const event_poller&) = delete;

  void add(check is_over, pace how);
  /// There is no check at pace::device.
  [[nodiscard]] bool is_idle() const noexcept { return device_checks_.load(std::memory_order_acquire) == 0; }

 private:
  struct watch {
    check is_over;
    pace how;
  };
  event_poller() = default;
  void run();
  void take_new();
  void call_all();
  void rest(std::uint32_t seen);

  doorbell bell_;
  std::mutex guard_;
  std::vector<watch> new_;
  /// Used by the poller's thread only.
  std::vector<watch> watches_;
  /// How many of `watches_` and `new_` have pace::device.
  std::atomic<std::size_t> device_checks_{0};
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace troupe::ipc
