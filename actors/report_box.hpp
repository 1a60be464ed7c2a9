#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "messages/lifecycle.hpp"
#include "messages/limits.hpp"
#include <troupe/log_record.hpp>

namespace troupe {

/// Reports on their way from the monitor actor to the thread that waits for a run. The box is there so that a slow
/// terminal never blocks an actor. It keeps the newest progress and the last limits::log_lines_max lines of the log. A
/// receiver that wants every line of the log gets them by copy_log_to(). Threads: any.
class report_box {
 public:
  void put(const call_progress& progress);
  void put(log_record record);
  /// Calls `receiver` with a copy of each record, at once and in order: first with the records that wait in the box,
  /// then with each new one. The receiver must not wait and must not call the box.
  void copy_log_to(log_function receiver);
  /// Makes take() return, because its thread has something else to do.
  void wake();

  struct reports {
    std::optional<call_progress> progress;
    std::deque<log_record> log_lines;
    /// The number of lines before these that were dropped because of the limit.
    std::uint64_t lines_lost = 0;
  };
  /// The reports since the last call. Waits for a report for `at_most` this time.
  [[nodiscard]] reports take(std::chrono::nanoseconds at_most);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  reports waiting_;
  log_function copies_;
  bool woken_ = false;
};

}  // namespace troupe
