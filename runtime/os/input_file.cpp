#include "runtime/os/input_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/os/errno_text.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t bytes_per_read = 64u << 10;

tl::unexpected<unread_input> unread(int number) {
  return tl::make_unexpected(unread_input{number, errno_text(number)});
}

/// 0 at the end, -1 with errno: EAGAIN where nothing is there now.
ssize_t read_more(int file, std::string& text, std::size_t bytes_most) {
  std::array<char, bytes_per_read> bytes;
  ssize_t got = -1;
  do {
    got = ::read(file, bytes.data(), std::min(bytes.size(), bytes_most - text.size()));
  } while (got < 0 && errno == EINTR);
  if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
  return got;
}

/// False if nothing came by then. A FIFO without a writer is not ready, and one whose writer has gone is.
bool await_input(int file, steady_clock::time_point until) {
  pollfd waits{file, POLLIN, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
    const int ready = ::poll(&waits, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) return true;  // the next read says why
  }
}

}  // namespace

std::string_view kind_of_file(mode_t mode) noexcept {
  if (S_ISREG(mode)) return {};
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISDIR(mode)) return "a directory";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

tl::expected<std::string, unread_input> read_small_input(const std::string& path, std::size_t bytes_max,
                                                         std::chrono::milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return unread(errno);
  if (S_ISDIR(about.st_mode)) return tl::make_unexpected(unread_input{EISDIR, "is a directory"});
  const bool may_come_later = !S_ISREG(about.st_mode);
  std::string text;
  while (text.size() <= bytes_max) {
    const ssize_t got = read_more(file.get(), text, bytes_max + 1);
    if (got > 0) continue;
    if (got < 0 && errno != EAGAIN) return unread(errno);
    // without a writer a FIFO looks as if it had ended
    const bool is_end = got == 0 && !(S_ISFIFO(about.st_mode) && text.empty());
    if (is_end || !may_come_later) break;
    if (!await_input(file.get(), until)) {
      return tl::make_unexpected(unread_input{ETIMEDOUT, "is " + std::string(kind_of_file(about.st_mode)) +
                                                             ", not a regular file, and its end did not come within " +
                                                             std::to_string(patience.count()) + " ms"});
    }
    if (got == 0 && read_more(file.get(), text, bytes_max + 1) <= 0) break;  // its writer has come, and gone
  }
  return text;
}

}  // namespace troupe
