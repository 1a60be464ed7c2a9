#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/process/fd_channel.hpp"

namespace troupe {

/// What came over a worker's channel, by tag, until it is taken. One thread receives, any may take.
class descriptor_box {
 public:
  explicit descriptor_box(fd_channel channel) : channel_(std::move(channel)) {}

  /// Receives until the driver's end is closed, as long as the process lives. Errors: fd_channel::receive().
  [[nodiscard]] expected<void> receive_all();

  /// Waits up to limits::channel_timeout for them: exactly `count` descriptors, or E0702.
  [[nodiscard]] expected<std::vector<unique_fd>> take(const std::string& tag, std::size_t count);

 private:
  fd_channel channel_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::string, std::vector<unique_fd>> waiting_;
};

}  // namespace troupe
