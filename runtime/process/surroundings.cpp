#include "runtime/process/surroundings.hpp"

#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace troupe {

surroundings surroundings::now() {
  surroundings found;
  std::error_code unnamed;  // a directory that was removed: equal to another such
  found.directory = std::filesystem::current_path(unnamed).string();
  found.user = {::getuid(), ::geteuid()};
  found.group = {::getgid(), ::getegid()};
  for (std::size_t i = 0; i < found.limits.size(); ++i) {
    rlimit limit{};
    if (i == RLIMIT_NOFILE || ::getrlimit(static_cast<__rlimit_resource>(i), &limit) != 0) continue;
    found.limits.at(i) = {limit.rlim_cur, limit.rlim_max};
  }
  ::sched_getaffinity(0, sizeof found.cores, &found.cores);
  return found;
}

}  // namespace troupe
