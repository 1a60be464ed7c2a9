#pragma once

#include <functional>

#include "runtime/topology/wiring_plan.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

/// What a fault plan can name in a run of this plan, but for journal and micro-batches: stage k of the shape is node k
/// of the plan.
fault_shape shape_of(const wiring_plan& plan, const std::function<bool(stage_address at)>& is_remote);

/// The fault is one of this channel's edge.
[[nodiscard]] bool is_of_channel(const fault& one, const wiring_plan& plan, std::size_t channel);

}  // namespace troupe
