#include "runtime/os/standard_descriptors.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace troupe {

void reserve_standard_descriptors() noexcept {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free, which is this one.
    if (::open("/", O_PATH | O_DIRECTORY) < 0) return;
  }
}

}  // namespace troupe
