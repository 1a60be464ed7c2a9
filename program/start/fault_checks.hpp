#pragma once

#include <cstdint>
#include <vector>

#include "program/topology/checked_run.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// What a fault plan can name in this run; micro-batches are not known.
[[nodiscard]] fault_shape fault_shape_of(const checked_run& run);

/// E0109: the run cannot inject a fault of its plan. `micro_batches`: 0 where they are not known.
[[nodiscard]] expected<void> check_faults(const checked_run& run, std::uint64_t micro_batches = 0);
/// The same of a run that `troupe eval` will start with these options on the nodes of a launch of its own (empty:
/// without one). Micro-batches are counted where data can be opened, here and now.
[[nodiscard]] expected<void> check_faults(const eval_options& options, std::vector<fault_shape::place> places);

}  // namespace troupe
