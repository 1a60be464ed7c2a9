#pragma once

#include <chrono>
#include <vector>

#include "messages/limits.hpp"
#include "messages/score.hpp"

namespace troupe {

/// The scores that wait in a stage for the next message to the aggregator, in the order they were made. A message costs
/// the cores more than a small stage does, so they wait for each other: limits::score_delay_min at first, so that
/// results are seen at once after a start and after a recovery, and from message to message twice as long, up to
/// limits::score_delay_max. Times are the caller's. Threads: the engine's.
class score_batcher {
 public:
  /// Whether a message can hold `next` with those that wait. An empty one holds any.
  [[nodiscard]] bool fits(const score& next) const noexcept;
  void add(score next, std::chrono::nanoseconds now);

  [[nodiscard]] bool empty() const noexcept { return scores_.empty(); }
  /// A message is full, or the oldest has waited for long enough.
  [[nodiscard]] bool due(std::chrono::nanoseconds now) const noexcept;
  /// Until the oldest has: 0 when it has, limits::park_max when nothing waits.
  [[nodiscard]] std::chrono::nanoseconds time_left(std::chrono::nanoseconds now) const noexcept;

  /// All of them, for one message.
  [[nodiscard]] std::vector<score> take();
  void drop(call_number call);
  /// New edges: the next message does not wait for long.
  void shorten_delay() noexcept { delay_ = limits::score_delay_min; }

 private:
  std::vector<score> scores_;
  std::size_t words_ = 0;
  std::chrono::nanoseconds oldest_{0};
  std::chrono::nanoseconds delay_ = limits::score_delay_min;
};

}  // namespace troupe
