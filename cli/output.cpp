#include "output.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/printable.hpp"
#include "runtime/os/message_writer.hpp"
#include "runtime/process/error_line.hpp"

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

/// Longer than another message takes that is read.
constexpr std::chrono::milliseconds time_to_say_it{100};

struct standard_error {
  std::timed_mutex mutex;
  message_writer writer{STDERR_FILENO};

  /// Never destroyed: a thread that was left behind may still say something.
  static standard_error& instance() {
    static auto* const only = new standard_error;
    return *only;
  }
};

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
  standard_error& out = standard_error::instance();
  const std::lock_guard lock(out.mutex);
  out.writer.write(text, limits::stderr_patience);
}

void say_if_read(std::string_view text) {
  standard_error& out = standard_error::instance();
  const std::unique_lock lock(out.mutex, time_to_say_it);
  if (lock) out.writer.write(text, std::chrono::milliseconds{0});
}

void await_reader() {
  constexpr int between_looks_ms = 5;
  const auto until = std::chrono::steady_clock::now() + limits::stderr_patience;
  int unread = 0;
  while (::ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0 && std::chrono::steady_clock::now() < until) {
    ::poll(nullptr, 0, between_looks_ms);
  }
}

void say_error(const error& problem) {
  if (tells_starter_errors()) return say(last_words(problem));
  say(fmt::format("{}\n  more: troupe explain {}\n", to_string(problem), code_name(problem.code)));
}

void say_warning(std::string_view text) {
  say(fmt::format("warning: {}\n", printable_lines(text)));
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
