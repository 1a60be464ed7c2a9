#include "runtime/os/cores.hpp"

#include <algorithm>
#include <thread>

#include <sched.h>

namespace troupe {

std::uint32_t usable_cores() noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // Fails only where there are more cores than a cpu_set_t holds (1024).
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return std::max(1u, std::thread::hardware_concurrency());
  return std::max(1u, static_cast<std::uint32_t>(CPU_COUNT(&cores)));
}

bool bind_to_share(pid_t process, std::uint32_t part, std::uint32_t parts) noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (part >= parts || sched_getaffinity(0, sizeof(cores), &cores) != 0) return false;
  const auto count = static_cast<std::uint64_t>(CPU_COUNT(&cores));
  const std::uint64_t first = part * count / parts;
  const std::uint64_t last = std::max(first + 1, (part + 1) * count / parts);
  cpu_set_t share;
  CPU_ZERO(&share);
  std::uint64_t seen = 0;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores)) continue;
    if (seen >= first && seen < last) CPU_SET(core, &share);
    ++seen;
  }
  return sched_setaffinity(process, sizeof(share), &share) == 0;
}

}  // namespace troupe
