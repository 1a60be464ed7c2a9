#pragma once

#include <chrono>
#include <vector>

#include "messages/limits.hpp"
#include "messages/score.hpp"

namespace troupe {

/// The scores that wait in a stage for the next message to the aggregator, in the order in which they were made. One
/// message costs more processor time than a forward of a small stage, so scores are collected. The oldest waits for
/// limits::score_delay_min at first, so that results are seen at once after a start and after a recovery. With every
/// message this time doubles, up to limits::score_delay_max. The caller says what time it is. Threads: the engine's.
class score_batcher {
 public:
  /// Whether one message can hold `next` and the scores that wait. A message of one score is always possible.
  [[nodiscard]] bool fits(const score& next) const noexcept;
  void add(score next, std::chrono::nanoseconds now);

  [[nodiscard]] bool empty() const noexcept { return scores_.empty(); }
  /// The scores fill a message, or the oldest has waited for long enough.
  [[nodiscard]] bool due(std::chrono::nanoseconds now) const noexcept;
  /// How long the oldest score still has to wait: 0 if it has waited for long enough, limits::park_max if there is
  /// none.
  [[nodiscard]] std::chrono::nanoseconds time_left(std::chrono::nanoseconds now) const noexcept;

  /// Removes and returns all scores, for one message.
  [[nodiscard]] std::vector<score> take();
  void drop(call_number call);
  /// Called for a new epoch: the next score waits for limits::score_delay_min only.
  void shorten_delay() noexcept { delay_ = limits::score_delay_min; }

 private:
  std::vector<score> scores_;
  std::size_t words_ = 0;
  std::chrono::nanoseconds oldest_{0};
  std::chrono::nanoseconds delay_ = limits::score_delay_min;
};

}  // namespace troupe
