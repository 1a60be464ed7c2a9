#pragma once

#include <cerrno>
#include <string_view>

#include <unistd.h>

namespace troupe {

/// Writes all of `content` at the file's position, in as many calls as that takes. 0, or errno.
[[nodiscard]] inline int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace troupe
