#include "runtime/os/message_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;

/// A pipe that is ready takes so much at once.
constexpr std::size_t chunk_bytes = PIPE_BUF;
/// A terminal may be ready and take only a part.
constexpr std::chrono::milliseconds pause_when_refused{1};

/// A reader that is gone is then told by EPIPE, and not by a signal that ends a program because of its messages.
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

message_writer::message_writer(int fd) : fd_(fd) {
  open_again();
}

void message_writer::open_again() {
  own_.reset();
  is_socket_ = false;
  struct stat found {};
  if (::fstat(fd_, &found) != 0) return;
  device_ = found.st_dev;
  inode_ = found.st_ino;
  is_socket_ = S_ISSOCK(found.st_mode);
  if (!S_ISFIFO(found.st_mode) && ::isatty(fd_) != 1) return;
  const std::string path = "/proc/self/fd/" + std::to_string(fd_);
  own_ = unique_fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/// An open pipe keeps its number: another one cannot have the same.
void message_writer::follow() {
  struct stat found {};
  if (::fstat(fd_, &found) != 0 || found.st_dev != device_ || found.st_ino != inode_) open_again();
}

void message_writer::write(std::string_view text, std::chrono::milliseconds patience) {
  if (text.empty()) return;
  const pipe_signal_blocked blocked;
  follow();
  if (lost_ > 0 && !tell_of_losses()) {
    ++lost_;
    return;
  }
  if (write_until(text, steady::now() + patience) < text.size()) ++lost_;
}

/// False: there is no room yet, not even for this.
bool message_writer::tell_of_losses() {
  const std::string note =
      (is_line_open_ ? "\n(" : "(") + std::to_string(lost_) + " messages were lost here: they were not read)\n";
  if (write_until(note, steady::now()) < note.size()) return false;
  lost_ = 0;
  return true;
}

std::size_t message_writer::write_until(std::string_view text, steady::time_point deadline) {
  std::size_t done = 0;
  while (done < text.size()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now());
    if (!has_room(own_ ? own_.get() : fd_, left)) return done;
    const long written = write_some(text.substr(done, chunk_bytes));
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
      if (done > 0) is_line_open_ = text[done - 1] != '\n';
    } else if (errno == EAGAIN && left.count() > 0) {
      static_cast<void>(::poll(nullptr, 0, static_cast<int>(pause_when_refused.count())));
    } else if (errno != EINTR) {
      return done;
    }
  }
  return done;
}

long message_writer::write_some(std::string_view text) const {
  if (is_socket_) return ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return ::write(own_ ? own_.get() : fd_, text.data(), text.size());
}

}  // namespace troupe
