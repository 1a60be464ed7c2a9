#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace troupe {

/// Tells the silence of another process from a freeze of this one (a stopped or paused group of processes, a machine
/// without memory): who did not run itself has heard nothing either, and must not judge by that.
///
/// Its owner looks more often than every `longest_pause`; two looks further apart are a freeze. Times are of one steady
/// clock. Threads: one.
class freeze_watch {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  explicit freeze_watch(nanoseconds longest_pause) : longest_pause_(longest_pause) {}

  /// True: this process was frozen since the look before.
  bool look(nanoseconds now) {
    const bool was_frozen = last_look_ && now - *last_look_ > longest_pause_;
    if (was_frozen) awake_since_ = now;
    last_look_ = now;
    return was_frozen;
  }

  /// How long has lasted what began at `begun`, as far as this process can judge: after each freeze it counts anew.
  [[nodiscard]] nanoseconds lasted(nanoseconds begun, nanoseconds now) {
    look(now);
    return now - std::max(begun, awake_since_);
  }

 private:
  const nanoseconds longest_pause_;
  nanoseconds awake_since_ = nanoseconds::min();
  std::optional<nanoseconds> last_look_;
};

}  // namespace troupe
