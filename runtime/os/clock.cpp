#include "runtime/os/clock.hpp"

namespace troupe {

std::chrono::nanoseconds steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace troupe
