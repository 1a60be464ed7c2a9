#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "messages/limits.hpp"
#include "runtime/os/freeze_watch.hpp"
#include "runtime/telemetry/stage_accounts.hpp"

namespace troupe {

/// A forward that takes suspiciously long.
struct stall {
  stage_accounts::owner stage;
  micro_batch_id working_on;
  std::chrono::nanoseconds since{0};
  std::chrono::nanoseconds median{0};
};

/// Looks at what the stages of a run are doing, more often than every limits::look_pause_max: after a longer pause, for
/// which this process was frozen and perhaps all of them, times count from its end. Threads: one.
class stall_watch {
 public:
  /// Forwards that have taken limits::stall_factor times the median of those before, and at least stall_time_min; each
  /// is told once.
  [[nodiscard]] std::vector<stall> new_stalls(const stage_accounts& stages, std::chrono::nanoseconds now);

  /// Forwards under way for longer than this, told every time.
  [[nodiscard]] std::vector<stall> longer_than(std::chrono::nanoseconds limit, const stage_accounts& stages,
                                               std::chrono::nanoseconds now);

 private:
  freeze_watch freezes_{limits::look_pause_max};
  /// Since when the forward that was told goes on.
  std::map<stage_address, std::chrono::nanoseconds> told_;
};

}  // namespace troupe
