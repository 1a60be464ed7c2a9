#pragma once

#include <vector>

#include "testing/simulation/plan.hpp"
#include <troupe/error.hpp>
#include <troupe/fault_plan.hpp>

namespace troupe::simulation {

/// The faults of `given` in virtual time, in its order; of control messages one for each replica of their stage. Else
/// replica 0 where none is named; a micro-batch is one of the first call. E0109: `made` has no such stage, edge or
/// journal, or virtual time no such fault (settings::plan lists those).
[[nodiscard]] expected<std::vector<fault>> in_virtual_time(const troupe::fault_plan& given, const plan& made);

}  // namespace troupe::simulation
