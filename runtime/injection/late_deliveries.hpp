#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include <troupe/error.hpp>

namespace troupe {

/// A thread that does things at their time, in order of it: what a fault plan holds back. The destructor joins it;
/// what is not due by then never happens. Threads: any.
class late_deliveries {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// E0614.
  [[nodiscard]] static expected<std::shared_ptr<late_deliveries>> start();
  late_deliveries(const late_deliveries&) = delete;
  late_deliveries& operator=(const late_deliveries&) = delete;
  ~late_deliveries();

  /// False, and nothing happens, if limits::fault_messages_max wait already.
  [[nodiscard]] bool at(time_point due, std::function<void()> act);

 private:
  late_deliveries() = default;
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<time_point, std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace troupe
