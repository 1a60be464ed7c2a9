#pragma once

#include <chrono>
#include <vector>

#include <sys/types.h>

#include <troupe/error.hpp>

namespace troupe {

/// Stops these processes, the caller or its children, and lets them go on after `time`: a small process does it, which
/// is not among them and holds none of their descriptors. Returns when they go on. A process that has ended is left
/// alone, also where a process that is no child has its number. E0614: nothing was stopped.
[[nodiscard]] expected<void> freeze_processes(const std::vector<pid_t>& which, std::chrono::milliseconds time);

}  // namespace troupe
