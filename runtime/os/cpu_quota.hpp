#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace troupe {

/// Time of processors that a control group allows: cores' worth per period. Threads beyond it only wait.
struct cpu_quota {
  double cores = 0;
  /// The file that says so: "/sys/fs/cgroup/cpu/build/cpu.cfs_quota_us".
  std::string file;
};

/// Content of a file; nothing where there is none.
using file_reader = std::function<std::optional<std::string>(const std::string& path)>;

/// The smallest quota of the process's own group and of all groups around it that it can see, in version 1
/// (cpu.cfs_quota_us), version 2 (cpu.max) and both at a time; nothing where none limits it. `read` is asked for
/// /proc/self/cgroup (cgroups(7)), /proc/self/mountinfo (proc(5)) and files of the groups. What cannot be understood
/// limits nothing.
[[nodiscard]] std::optional<cpu_quota> find_cpu_quota(const file_reader& read);

/// The quota of this process, now.
[[nodiscard]] std::optional<cpu_quota> find_cpu_quota();

/// Cores that a run may keep busy: usable_cores(), and no more than whole cores of the quota; at least 1.
[[nodiscard]] std::uint32_t cores_within(const std::optional<cpu_quota>& quota, std::uint32_t cores) noexcept;

/// Those of this process, now: what `threads = auto` divides.
[[nodiscard]] std::uint32_t cores_to_use();

}  // namespace troupe
