#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "messages/limits.hpp"
#include "runtime/os/freeze_watch.hpp"
#include "runtime/telemetry/stage_accounts.hpp"

namespace troupe {

/// A forward that takes much longer than those before it.
struct stall {
  stage_accounts::owner stage;
  micro_batch_id working_on;
  std::chrono::nanoseconds since{0};
  std::chrono::nanoseconds median{0};
};

/// Finds forwards that take too long. The caller looks more often than every limits::look_pause_max. If a look comes
/// later, this process was frozen, and perhaps the workers, too: the times of forwards then count from that look on.
/// Threads: one.
class stall_watch {
 public:
  /// Forwards that have taken at least limits::stall_factor times the median of the stage and at least
  /// limits::stall_time_min. Each of them is returned once.
  [[nodiscard]] std::vector<stall> new_stalls(const stage_accounts& stages, std::chrono::nanoseconds now);

  /// Forwards that have been under way for longer than `limit`, at every look.
  [[nodiscard]] std::vector<stall> longer_than(std::chrono::nanoseconds limit, const stage_accounts& stages,
                                               std::chrono::nanoseconds now);

 private:
  freeze_watch freezes_{limits::look_pause_max};
  /// By stage, the begin of the last forward that new_stalls() has returned.
  std::map<stage_address, std::chrono::nanoseconds> told_;
};

}  // namespace troupe
