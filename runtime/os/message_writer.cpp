#include "runtime/os/message_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
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

bool has_room(int fd, std::chrono::milliseconds patience) {
  pollfd reader{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&reader, 1, static_cast<int>(std::max<std::int64_t>(0, patience.count()))) == 1;
}

}  // namespace

message_writer::message_writer(int fd) : fd_(fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return;
  is_socket_ = S_ISSOCK(found.st_mode);
  if (!S_ISFIFO(found.st_mode) && ::isatty(fd) != 1) return;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  own_ = unique_fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own_) fd_ = own_.get();
}

void message_writer::write(std::string_view text, std::chrono::milliseconds patience) {
  if (text.empty()) return;
  if (lost_ > 0 && has_room(fd_, {})) tell_of_losses();
  const auto deadline = steady::now() + (lost_ > 0 ? std::chrono::milliseconds{0} : patience);
  const std::size_t written = write_until(text, deadline);
  if (written > 0) is_line_open_ = text[written - 1] != '\n';
  if (written < text.size()) ++lost_;
}

void message_writer::tell_of_losses() {
  const std::string note =
      fmt::format("{}({} messages were lost here: they were not read)\n", is_line_open_ ? "\n" : "", lost_);
  if (write_until(note, steady::now()) < note.size()) return;
  lost_ = 0;
  is_line_open_ = false;
}

std::size_t message_writer::write_until(std::string_view text, steady::time_point deadline) const {
  std::size_t done = 0;
  while (done < text.size()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now());
    if (!has_room(fd_, left)) return done;
    const long written = write_some(text.substr(done, chunk_bytes));
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
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
  return ::write(fd_, text.data(), text.size());
}

}  // namespace troupe
