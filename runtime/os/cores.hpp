#pragma once

#include <cstdint>

#include <sys/types.h>

namespace troupe {

/// Cores that this process may run on (its affinity mask), at least 1.
[[nodiscard]] std::uint32_t usable_cores() noexcept;

/// Gives another process share `part`, counted from 0, of `parts` equal shares of the cores that the caller may run on
/// (its affinity mask, whatever the quota of its cgroup); at least one core, so that shares overlap where there are
/// more of them than cores. Threads that it has made before keep theirs. False if the system refuses, and unless `part`
/// < `parts`.
bool bind_to_share(pid_t process, std::uint32_t part, std::uint32_t parts) noexcept;

}  // namespace troupe
