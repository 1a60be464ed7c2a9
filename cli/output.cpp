#include "output.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe::cli {
namespace {

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::size_t terminal_width(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

expected<void> print(std::string_view text) {
  const int reason = write_all(STDOUT_FILENO, text);
  if (reason == 0) return {};
  return fail(error_code::output_unwritable, "stdout", std::strerror(reason),
              "send the output where it can be written, or keep the reader of the pipe open");
}

void say(std::string_view text) {
  static_cast<void>(write_all(STDERR_FILENO, text));
}

void say_if_read(std::string_view text) {
  pollfd reader{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&reader, 1, 0) == 1) say(text);
}

void say_error(const error& problem) {
  say(fmt::format("{}\n  more: troupe explain {}\n", to_string(problem), code_name(problem.code)));
}

void say_warning(std::string_view text) {
  say(fmt::format("warning: {}\n", text));
}

std::size_t output_width() {
  constexpr std::size_t otherwise = 100;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (const std::size_t width = terminal_width(fd); width != 0) return width;
  }
  return otherwise;
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

}  // namespace troupe::cli
