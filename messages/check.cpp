#include "messages/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace troupe {

void invariant_broken(const char* condition, const char* why, const char* file, int line) noexcept {
  std::fprintf(stderr, "troupe: invariant broken at %s:%d: %s (%s)\n", file, line, condition, why);
  std::abort();
}

}  // namespace troupe
