#include "runtime/join/join_file.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/os/write_all.hpp"

namespace troupe {
namespace {

std::string place_of_file(const std::string& path) {
  return "join file " + path;
}

/// Why a ticket in such a file would be no secret; empty if it is one.
std::string objection_to(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return "it is no regular file";
  if (file.st_uid != 0 && file.st_uid != ::geteuid()) return "it belongs to another user";
  if ((file.st_mode & 077) != 0) return "its group or others have rights to it";
  if (file.st_size > static_cast<off_t>(limits::join_ticket_bytes_max)) {
    return "it has " + std::to_string(file.st_size) + " bytes, " + std::to_string(limits::join_ticket_bytes_max) +
           " are permitted";
  }
  return {};
}

/// One byte; 0 at the end, and -1 with errno.
ssize_t read_byte(int fd, char& byte) {
  ssize_t got = -1;
  do {
    got = ::read(fd, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got;
}

/// 1: there is something to read, or the end; 0: the time is over; -1 with errno.
int wait_for_input(int fd, std::chrono::steady_clock::time_point until) {
  // poll passes over a negative one.
  if (fd < 0) {
    errno = EBADF;
    return -1;
  }
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd watched{fd, POLLIN, 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX)));
    if (ready > 0 && (watched.revents & POLLNVAL) != 0) {
      errno = EBADF;
      return -1;
    }
    if (ready >= 0 || errno != EINTR) return ready;
  }
}

int write_and_sync(int fd, std::string_view text) {
  // Whatever the umask took away.
  if (::fchmod(fd, 0600) != 0) return errno;
  if (const int failed = write_all(fd, text); failed != 0) return failed;
  if (const int failed = write_all(fd, "\n"); failed != 0) return failed;
  return ::fsync(fd) == 0 ? 0 : errno;
}

tl::unexpected<error> system_refused(const char* call) {
  return fail(error_code::process_failed, "join ticket on a descriptor", std::string(call) + ": " + errno_text(),
              "Give the ticket on the standard input, or as a file with --join-file");
}

}  // namespace

expected<join_ticket> read_join_file(const std::string& path) {
  // Without waiting for the other end of a pipe.
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0)
    return fail(error_code::config_missing, place_of_file(path), errno_text(), "Check the path given with --join-file");
  if (std::string why = objection_to(about); !why.empty()) {
    return fail(error_code::config_bad_value, place_of_file(path), std::move(why),
                "Give the file of the ticket to this user alone, with mode 0600");
  }
  secret_text text(limits::join_ticket_bytes_max + 1);
  char byte = 0;
  ssize_t got = 1;
  // One byte more than is permitted is refused by the parser.
  while ((got = read_byte(file.get(), byte)) == 1 && text.append(byte)) {
  }
  if (got < 0) return fail(error_code::config_missing, place_of_file(path), errno_text(), "Check the disk of the file");
  return parse_join_ticket(text.view());
}

expected<void> write_join_file(const std::string& path, const join_ticket& ticket) {
  const auto text = TROUPE_TRY(to_text(ticket));
  const unique_fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  int failed = file ? 0 : errno;
  if (file) {
    failed = write_and_sync(file.get(), text.view());
    if (failed != 0) ::unlink(path.c_str());
  }
  if (failed == 0) return {};
  return fail(error_code::output_unwritable, place_of_file(path), errno_text(failed),
              "Name a file that does not exist, in a directory that can be written");
}

expected<join_ticket> read_join_ticket(int fd, std::chrono::milliseconds wait) {
  const auto until = std::chrono::steady_clock::now() + wait;
  secret_text text(limits::join_ticket_bytes_max + 1);
  // A read of more bytes could take what follows the line.
  for (char byte = 0; byte != '\n';) {
    const int ready = wait_for_input(fd, until);
    if (ready < 0) return system_refused("poll");
    if (ready == 0) {
      return fail(error_code::config_bad_value, "join ticket on a descriptor",
                  "no whole line came within " + std::to_string(wait.count()) + " ms",
                  "Write the ticket with the end of its line to the standard input");
    }
    const ssize_t got = read_byte(fd, byte);
    if (got < 0 && errno != EAGAIN) return system_refused("read");
    if (got == 0) break;
    if (got == 1 && !text.append(byte)) break;
    if (got < 0) byte = 0;
  }
  return parse_join_ticket(text.view());
}

}  // namespace troupe
