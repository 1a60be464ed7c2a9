#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

/// Writes lines to a pipe, terminal or file that may not be read: a line that finds no room in time is lost, and the
/// next line that finds some is told how many were. A reader that is gone raises no SIGPIPE. Threads: one at a time.
/// Blocks only where another writer takes the room between look and write.
class stderr_lines {
 public:
  /// `fd` stays open.
  explicit stderr_lines(int fd) noexcept : fd_(fd) {}

  /// `line` has its end. Waits at most limits::stderr_patience for room, and not at all while lines are being lost.
  void write(std::string_view line);

 private:
  [[nodiscard]] std::size_t write_until(std::string_view text, std::chrono::steady_clock::time_point deadline) const;

  int fd_;
  std::uint64_t lost_ = 0;
  bool is_line_open_ = false;
};

}  // namespace troupe
