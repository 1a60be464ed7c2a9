#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include <troupe/error.hpp>

namespace troupe {

/// Calls functions at their times, in order, on a thread of its own.
class fault_clock {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  fault_clock();
  fault_clock(const fault_clock&) = delete;
  fault_clock& operator=(const fault_clock&) = delete;
  /// A function that is not due by then is not called. One that is called may end the clock, too.
  ~fault_clock() { stop(); }

  /// E0614.
  [[nodiscard]] expected<void> start();
  /// Any thread, also from what it calls.
  void at(time_point when, std::function<void()> what);
  /// Waits for the function that is being called, unless that is the caller.
  void stop();

 private:
  class agenda;

  /// The thread's, too: it may outlive the clock.
  const std::shared_ptr<agenda> agenda_;
  std::thread thread_;
};

}  // namespace troupe
