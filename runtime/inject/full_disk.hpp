#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include <unistd.h>

namespace troupe {

/// In place of ::write: a disk that has room until it is filled. Threads: any.
class full_disk {
 public:
  /// So many bytes still fit.
  void fill(std::uint64_t bytes_left) {
    const std::lock_guard lock{mutex_};
    room_ = bytes_left;
  }

  ssize_t write(int fd, const void* from, std::size_t size) {
    {
      const std::lock_guard lock{mutex_};
      if (room_) {
        size = static_cast<std::size_t>(std::min<std::uint64_t>(size, *room_));
        *room_ -= size;
        if (size == 0) {
          errno = ENOSPC;
          return -1;
        }
      }
    }
    return ::write(fd, from, size);
  }

 private:
  std::mutex mutex_;
  std::optional<std::uint64_t> room_;
};

}  // namespace troupe
