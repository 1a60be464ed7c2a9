#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include <troupe/fault_plan.hpp>

namespace troupe {

/// Which messages one fault of an edge, or of control messages, hits in this process: one object for all edges or links
/// that it names, over all epochs. Times count from the first message. Threads: any.
class message_trigger {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `injected` is told each time that the fault hits, on the thread of the message; a partition once. It may be null.
  message_trigger(fault what, std::function<void()> injected);
  message_trigger(const message_trigger&) = delete;
  message_trigger& operator=(const message_trigger&) = delete;

  [[nodiscard]] const fault& what() const noexcept { return what_; }

  /// Counts a message. True if it is hit.
  [[nodiscard]] bool hits(time_point now = std::chrono::steady_clock::now());
  /// Of a partition: nothing passes now.
  [[nodiscard]] bool is_active(time_point now = std::chrono::steady_clock::now());
  /// Of a delay: how long the message that was just hit is late.
  [[nodiscard]] std::chrono::nanoseconds lateness();

 private:
  [[nodiscard]] bool begins(time_point now);
  [[nodiscard]] bool is_over(time_point now) const;
  [[nodiscard]] double draw(std::uint64_t salt) const noexcept;

  const fault what_;
  const std::function<void()> injected_;
  std::mutex mutex_;
  std::uint64_t messages_ = 0;
  std::uint64_t hits_ = 0;
  std::optional<time_point> first_;
  /// When what lasts began.
  std::optional<time_point> began_;
};

}  // namespace troupe
