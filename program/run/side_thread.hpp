#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include <troupe/error.hpp>

namespace troupe {

/// A thread for code that may never return: it is waited for with a limit, and left behind where that has passed. So it
/// has to own all it uses; what `work` holds is released before the thread counts as ended.
class side_thread {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `work` gets a token that says when its result is no longer wanted. E0614 names `what` if the system gives no
  /// thread.
  [[nodiscard]] static expected<side_thread> start(const std::string& what,
                                                   std::function<void(const std::stop_token&)> work);
  side_thread(side_thread&&) = default;
  side_thread& operator=(side_thread&&) = delete;
  side_thread(const side_thread&) = delete;
  side_thread& operator=(const side_thread&) = delete;
  /// After end_by() alone.
  ~side_thread();

  /// True if it has ended; waits until `deadline`, for ever without one.
  [[nodiscard]] bool has_ended(const std::optional<time_point>& deadline) const;
  /// Asks it to stop, waits, and joins it. False if it has not ended at `deadline`: then it is abandoned
  /// (has_abandoned_threads). May be repeated.
  bool end_by(time_point deadline);

 private:
  struct state;
  explicit side_thread(std::shared_ptr<state> shared) : state_(std::move(shared)) {}

  std::shared_ptr<state> state_;
  std::thread thread_;
};

}  // namespace troupe
