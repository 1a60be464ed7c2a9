#pragma once

#include <cstddef>
#include <optional>

#include <troupe/fault_plan.hpp>

namespace troupe {

/// The stage that a fault names, by name or number; nothing if there is none.
std::optional<std::size_t> find_stage(const fault_shape& shape, const std::string& name);

/// The fault needs a process of its target's own: its end, or its freeze, must not be that of the run.
[[nodiscard]] bool needs_process(const fault& one);

}  // namespace troupe
