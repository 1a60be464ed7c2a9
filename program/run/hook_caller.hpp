#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "program/run/side_thread.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// Calls the hooks of a run from a thread of its own, so that a slow or stuck one loses reports, and never time: the
/// newest progress is kept, and the last limits::log_lines_max records of the log. A record says how many were lost
/// before it. What a hook throws is dropped. Threads: any, but for finish().
class hook_caller {
 public:
  /// Without any hook there is no thread, either. E0614.
  [[nodiscard]] static expected<std::shared_ptr<hook_caller>> start(evaluation_hooks hooks);
  hook_caller(const hook_caller&) = delete;
  hook_caller& operator=(const hook_caller&) = delete;
  /// Gives the hooks limits::hooks_finish_time.
  ~hook_caller();

  void put(const progress_update& progress);
  void put(log_record record);
  /// Records that were lost on their way to here.
  void lost(std::uint64_t records);

  /// Waits until the hooks have got what was put before. False if they have not by then.
  [[nodiscard]] bool flush(std::chrono::nanoseconds at_most);
  /// Takes no more, and waits until the hooks have got the rest. False if a hook has not returned by then: its thread
  /// is abandoned, and the hooks' own objects must stay. May be repeated.
  bool finish(std::chrono::nanoseconds at_most);

 private:
  struct queue;
  explicit hook_caller(std::shared_ptr<queue> waiting) : queue_(std::move(waiting)) {}

  std::shared_ptr<queue> queue_;
  std::optional<side_thread> thread_;
};

}  // namespace troupe
