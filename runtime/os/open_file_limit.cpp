#include "runtime/os/open_file_limit.hpp"

#include <algorithm>
#include <atomic>

#include <sys/resource.h>

namespace troupe {
namespace {

/// 0: never raised.
std::atomic<rlim_t> soft_limit_at_first{0};
static_assert(std::atomic<rlim_t>::is_always_lock_free, "a child after fork reads it");

}  // namespace

bool raise_open_file_limit() noexcept {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= now.rlim_max) return false;
  rlim_t never = 0;
  soft_limit_at_first.compare_exchange_strong(never, now.rlim_cur);
  now.rlim_cur = now.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &now) == 0;
}

bool restore_open_file_limit() noexcept {
  const rlim_t before = soft_limit_at_first.load();
  if (before == 0) return true;
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return false;
  now.rlim_cur = std::min(before, now.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &now) == 0;
}

}  // namespace troupe
