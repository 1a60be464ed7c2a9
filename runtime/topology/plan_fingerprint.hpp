#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/topology/wiring_plan.hpp"

namespace troupe {

/// A hash (FNV-1a, 64 bits) of all of a plan and of `settings`, a text with whatever else two processes must agree on:
/// equal in both if they describe the same run. Not for adversaries.
[[nodiscard]] std::uint64_t plan_fingerprint(const wiring_plan& plan, std::string_view settings);

}  // namespace troupe
