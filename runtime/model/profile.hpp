#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "messages/limits.hpp"
#include "runtime/model/graph_values.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Seconds that each layer takes for one micro-batch: the median over passes through the whole model, after a warm-up,
/// within `budget`. Measures in a thread of its own with `threads` intra-op threads. `micro_batch` has the shapes and
/// dtypes of the real ones and passed probe_layers. E0602; E0607 if it is told to stop between layers.
expected<std::vector<double>> profile_layers(const layered_graph& graph, const graph_values& micro_batch,
                                             std::uint32_t threads, const std::stop_token& stop = {},
                                             std::chrono::milliseconds budget = limits::profile_budget);

}  // namespace troupe
