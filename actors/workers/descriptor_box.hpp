#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/process/fd_channel.hpp"

namespace troupe {

/// Keeps the descriptors that come over a worker's channel, by their tags, until they are taken. Threads: one calls
/// receive_all(), any may take.
class descriptor_box {
 public:
  explicit descriptor_box(fd_channel channel) : channel_(std::move(channel)) {}

  /// Receives descriptors until the driver closes its end of the channel. Errors: fd_channel::receive().
  [[nodiscard]] expected<void> receive_all();

  /// Waits for up to limits::channel_timeout for the descriptors with this tag. E0702 if they do not come, or are not
  /// exactly `count`.
  [[nodiscard]] expected<std::vector<unique_fd>> take(const std::string& tag, std::size_t count);

 private:
  fd_channel channel_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::string, std::vector<unique_fd>> waiting_;
};

}  // namespace troupe
