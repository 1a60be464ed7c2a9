#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <vector>

#include "messages/limits.hpp"
#include <troupe/log_record.hpp>

namespace troupe {

/// Counts records that are equal to an earlier one (in level, text, rank and stage) instead of passing them on: within
/// limits::log_repeat_interval after the first of them. Remembers the last limits::log_repeats_kept different records.
/// Threads: one at a time.
class repeat_limit {
 public:
  /// The records to write now: "... 41 more like this: TEXT" for each record whose interval has ended, and `next`
  /// unless it is a repeat. The clock is the records' own.
  [[nodiscard]] std::vector<log_record> take(log_record next);
  /// What has been counted and not told so far.
  [[nodiscard]] std::vector<log_record> finish();

 private:
  struct seen {
    log_record first;
    std::uint64_t repeats = 0;
    std::chrono::system_clock::time_point last = {};
  };
  void forget_oldest(std::vector<log_record>& told);

  /// In the order of their first records.
  std::deque<seen> seen_;
};

}  // namespace troupe
