#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "runtime/os/unique_fd.hpp"

namespace troupe {

/// Writes messages to a descriptor that may not be read: what finds no room in time is lost, and the next message that
/// does is told about it. Never blocks for longer. One thread at a time.
class message_writer {
 public:
  explicit message_writer(int fd);

  /// Waits for room at most so long; not at all once something was lost, until there is room again.
  void write(std::string_view text, std::chrono::milliseconds patience);

 private:
  /// How much of it.
  [[nodiscard]] std::size_t write_until(std::string_view text, std::chrono::steady_clock::time_point deadline) const;
  [[nodiscard]] long write_some(std::string_view text) const;
  void tell_of_losses();

  int fd_;
  bool is_socket_ = false;
  /// The same pipe or terminal once more: for this one alone writes that would block can be refused, whatever else
  /// shares the descriptor.
  unique_fd own_;
  std::uint64_t lost_ = 0;
  bool is_line_open_ = false;
};

}  // namespace troupe
