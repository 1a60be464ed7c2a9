#pragma once

#include <cstdint>
#include <string>

#include "../rounds.hpp"
#include "../workload.hpp"

namespace troupe::bench {

/// Runs the variant alone, `options.rounds` calls after one that is discarded, and gives a table in markdown: of each
/// thread of this process and its children that takes any, the processor's time in us and how often the thread was put
/// on a core, for each micro-batch (warm-ups count). Source: /proc/PID/task/TID/schedstat.
expected<std::string> thread_time_table(const workload& work, const std::string& variant, const round_options& options);

}  // namespace troupe::bench
