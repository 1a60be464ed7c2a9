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

/// Reports on their way from the monitor actor to the thread that waits for a run, so that a slow terminal never blocks
/// an actor: the newest progress, and the last limits::log_lines_max lines of the log. A log that is to be complete at
/// any time is copied to a receiver, which does not wait for that thread. Any thread.
class report_box {
 public:
  void put(const call_progress& progress);
  void put(log_record record);
  /// Gets a copy of each record from now on, at once and in order, and first of those that wait here. It must not wait,
  /// and not call the box.
  void copy_log_to(log_function receiver);
  /// The waiting thread has something else to do: take() returns.
  void wake();

  struct reports {
    std::optional<call_progress> progress;
    std::deque<log_record> log_lines;
    /// Lines before these that the limit dropped.
    std::uint64_t lines_lost = 0;
  };
  /// What has come since the last time; waits for something to come, `at_most` that long.
  [[nodiscard]] reports take(std::chrono::nanoseconds at_most);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  reports waiting_;
  log_function copies_;
  bool woken_ = false;
};

}  // namespace troupe
