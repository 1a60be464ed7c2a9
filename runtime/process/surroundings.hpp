#pragma once

#include <array>
#include <string>

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

namespace troupe {

/// What a child inherits beside descriptors and variables: working directory, user, limits, cores. The limit of open
/// files is not among them: each start restores it (open_file_limit.hpp).
struct surroundings {
  std::string directory;
  std::array<uid_t, 2> user{};
  std::array<gid_t, 2> group{};
  /// Soft and hard ones, by number.
  std::array<std::array<rlim_t, 2>, RLIMIT_NLIMITS> limits{};
  cpu_set_t cores{};

  /// The surroundings of this process now; cores are those of the calling thread.
  [[nodiscard]] static surroundings now();

  friend bool operator==(const surroundings& a, const surroundings& b) {
    return a.directory == b.directory && a.user == b.user && a.group == b.group && a.limits == b.limits &&
           CPU_EQUAL(&a.cores, &b.cores) != 0;
  }
};

}  // namespace troupe
