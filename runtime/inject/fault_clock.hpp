#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include <troupe/error.hpp>

namespace troupe {

/// Calls what is due at a time, in order, on a thread of its own.
class fault_clock {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  fault_clock() = default;
  fault_clock(const fault_clock&) = delete;
  fault_clock& operator=(const fault_clock&) = delete;
  /// What is not due by then is not called.
  ~fault_clock() { stop(); }

  /// E0614.
  [[nodiscard]] expected<void> start();
  /// Any thread, also from what it calls.
  void at(time_point when, std::function<void()> what);
  /// Waits for what is being called. Not from what it calls.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<time_point, std::function<void()>> due_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace troupe
