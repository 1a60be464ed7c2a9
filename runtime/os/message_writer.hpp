#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sys/types.h>

#include "runtime/os/unique_fd.hpp"

namespace troupe {

/// Writes messages to a descriptor that may not be read. A message that finds no room in time is lost, whole or from
/// some byte on. The next message that finds room comes behind a line with the number of lost ones, so that the order
/// of messages stays. A reader that is gone raises no SIGPIPE. Never blocks longer than the patience of write() on a
/// pipe, socket or terminal, also if other writers share it. Threads: one at a time.
class message_writer {
 public:
  /// `fd` stays open and keeps its mode. A pipe or terminal is opened once more, and stays open as long as this object.
  explicit message_writer(int fd);

  /// Waits for room at most `patience`, and not at all while messages are being lost. Follows a descriptor that was
  /// given another file (dup2).
  void write(std::string_view text, std::chrono::milliseconds patience);

 private:
  void open_again();
  void follow();
  /// Both give the bytes that were written.
  [[nodiscard]] std::size_t write_until(std::string_view text, std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] long write_some(std::string_view text) const;
  [[nodiscard]] bool tell_of_losses();

  const int fd_;
  bool is_socket_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  /// The same pipe or terminal once more: writes that would block are refused on this one alone.
  unique_fd own_;
  std::uint64_t lost_ = 0;
  bool is_line_open_ = false;
};

}  // namespace troupe
