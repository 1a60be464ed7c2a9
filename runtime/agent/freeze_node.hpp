#pragma once

#include <chrono>
#include <vector>

#include <sys/types.h>

#include <troupe/error.hpp>

namespace troupe {

/// Stops these processes, one of which may be the caller's, and lets them go on after `time`: a small process does it,
/// which is not among them and holds none of their descriptors. Returns when they go on. What ends meanwhile is left
/// alone, also where another process has its number. E0614: nothing was stopped.
[[nodiscard]] expected<void> freeze_processes(const std::vector<pid_t>& which, std::chrono::milliseconds time);

}  // namespace troupe
