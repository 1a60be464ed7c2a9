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

/// One thread of their own calls the hooks, one call at a time, until run() returns or the evaluator is destroyed;
/// `on_log` also during create(). A blocking hook loses reports and delays nothing else. At the end of a run pending
/// reports have limits::hooks_finish_time; a hook that has not returned by then makes the evaluator stuck().
struct evaluation_hooks {
  std::function<void(const progress_update&)> on_progress;
  std::function<void(const std::string&)> on_log;
};

}  // namespace troupe
