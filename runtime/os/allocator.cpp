#include "runtime/os/allocator.hpp"

#include <cstdlib>
#include <initializer_list>

#include <malloc.h>

namespace troupe {

void keep_freed_memory() noexcept {
#if defined(__GLIBC__)
  for (const char* name : {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(name) != nullptr) return;
  }
  // The largest that glibc takes for the first (HEAP_MAX_SIZE / 2 on 64 bits); the second in proportion to it.
  constexpr int mmap_threshold_bytes = 32 << 20;
  constexpr int trim_threshold_bytes = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, mmap_threshold_bytes);
  mallopt(M_TRIM_THRESHOLD, trim_threshold_bytes);
#endif
}

void return_freed_memory() noexcept {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace troupe
