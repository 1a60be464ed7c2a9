#include "runtime/log/stderr_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <string>

#include <poll.h>
#include <unistd.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;

/// A pipe that is ready takes so much at once.
constexpr std::size_t chunk_bytes = PIPE_BUF;

/// A reader that is gone is then told by EPIPE, and not by a signal that ends a program because of its log.
class pipe_signal_blocked {
 public:
  pipe_signal_blocked() {
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  pipe_signal_blocked(const pipe_signal_blocked&) = delete;
  pipe_signal_blocked& operator=(const pipe_signal_blocked&) = delete;
  ~pipe_signal_blocked() {
    constexpr timespec at_once{};
    while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  bool was_pending_ = false;
  sigset_t pipe_{};
  sigset_t before_{};
};

bool has_room(int fd, std::chrono::milliseconds patience) {
  pollfd reader{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&reader, 1, static_cast<int>(std::max<std::int64_t>(0, patience.count()))) == 1;
}

}  // namespace

void stderr_lines::write(std::string_view line) {
  const pipe_signal_blocked blocked;
  const auto deadline = steady::now() + (lost_ > 0 ? std::chrono::milliseconds{0} : limits::stderr_patience);
  if (lost_ > 0) {
    const std::string note =
        (is_line_open_ ? "\n(" : "(") + std::to_string(lost_) + " lines of the log were lost here)\n";
    if (write_until(note, deadline) < note.size()) {
      ++lost_;
      return;
    }
    lost_ = 0;
    is_line_open_ = false;
  }
  const std::size_t written = write_until(line, deadline);
  if (written > 0) is_line_open_ = line[written - 1] != '\n';
  if (written < line.size()) ++lost_;
}

std::size_t stderr_lines::write_until(std::string_view text, steady::time_point deadline) const {
  std::size_t done = 0;
  while (done < text.size()) {
    if (!has_room(fd_, std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now()))) return done;
    const std::string_view chunk = text.substr(done, chunk_bytes);
    const ssize_t written = ::write(fd_, chunk.data(), chunk.size());
    if (written < 0 && errno != EINTR) return done;
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  return done;
}

}  // namespace troupe
