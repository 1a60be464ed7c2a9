#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// What leaves by a socket as lines. Nothing blocks. The socket is another object's. One thread at a time.
class line_writer {
 public:
  /// Takes a line with its end. E0708 for more than limits::launch_bytes_queued_max waiting bytes.
  [[nodiscard]] expected<void> queue(std::string line);
  /// Sends what the socket takes now. E0708 if the other end is closed, E0614 for any other refusal.
  [[nodiscard]] expected<void> flush(int socket);
  [[nodiscard]] bool is_empty() const noexcept { return waiting_.empty(); }

 private:
  std::deque<std::string> waiting_;
  std::size_t sent_of_first_ = 0;
  std::size_t bytes_ = 0;
};

/// What comes by a socket as lines. Nothing blocks. The socket is another object's. One thread at a time.
class line_reader {
 public:
  /// The next line without its end; nothing if there is none now. E0701 for one of more than
  /// limits::launch_line_bytes_max, E0614 if the system refuses.
  [[nodiscard]] expected<std::optional<std::string>> next(int socket);
  /// The other end is closed and all of its whole lines were taken. An unfinished one is dropped.
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

 private:
  [[nodiscard]] std::optional<std::string> take_line();

  std::string bytes_;
  std::size_t searched_ = 0;  ///< no end of a line is in as many first bytes
  bool is_closed_ = false;
};

}  // namespace troupe
