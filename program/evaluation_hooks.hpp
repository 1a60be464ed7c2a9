#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace troupe {

struct progress_update {
  std::uint64_t samples_done = 0;
  std::uint64_t samples_total = 0;
  std::uint64_t micro_batches_done = 0;
  double samples_per_second = 0;
};

/// Called one at a time from a thread of their own, until run() returns or the evaluator goes; `on_log` already during
/// create(). They may block, which loses reports and delays nothing else: at the end of a run they get
/// limits::hooks_finish_time to take what is left; one that has not returned by then makes the evaluator stuck().
struct evaluation_hooks {
  std::function<void(const progress_update&)> on_progress;
  std::function<void(const std::string&)> on_log;
};

}  // namespace troupe
