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

}  // namespace troupe
