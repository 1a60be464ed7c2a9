#pragma once

#include <algorithm>
#include <cstdint>
#include <future>
#include <utility>
#include <vector>

#include <troupe/metric.hpp>

namespace troupe::bench {

/// One timed pass over the first micro-batches of a workload.
struct measurement {
  double us_per_micro_batch = 0;
  /// What came out, to compare with the other variants.
  std::vector<metric_value> values;
  /// Microseconds per micro-batch that each stage was busy (forward, score); of pipelines only.
  std::vector<double> stage_us;
};

/// Micro-batches that run untimed before the timed ones: threads wake up, caches and allocators fill.
inline std::uint64_t warm_up_of(std::uint64_t micro_batches) {
  return std::min(micro_batches, std::max<std::uint64_t>(4, micro_batches / 10));
}

/// Runs in a thread of its own that is gone afterwards, and with it the OpenMP team that it may have started: with two
/// teams in the process, libgomp counts more threads than cores and lets neither spin.
template <class F>
auto in_new_thread(F&& work) {
  return std::async(std::launch::async, std::forward<F>(work)).get();
}

}  // namespace troupe::bench
