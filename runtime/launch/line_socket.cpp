#include "runtime/launch/line_socket.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "messages/limits.hpp"
#include "runtime/os/errno_text.hpp"

namespace troupe {
namespace {

constexpr const char* socket_name = "launch channel";
constexpr std::size_t bytes_per_read = 64u << 10;

tl::unexpected<error> line_lost(std::string cause) {
  return fail(error_code::peer_lost, socket_name, std::move(cause), "look at the end of launcher and driver");
}

}  // namespace

expected<void> line_writer::queue(std::string line) {
  if (bytes_ + line.size() > limits::launch_bytes_queued_max) return line_lost("the other end reads nothing");
  bytes_ += line.size();
  waiting_.push_back(std::move(line));
  return {};
}

expected<void> line_writer::flush(int socket) {
  while (!waiting_.empty()) {
    const std::string& first = waiting_.front();
    const ssize_t sent =
        ::send(socket, first.data() + sent_of_first_, first.size() - sent_of_first_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return {};
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return line_lost("the other end is closed");
    if (sent < 0) return fail(error_code::process_failed, socket_name, "send: " + errno_text());
    sent_of_first_ += static_cast<std::size_t>(sent);
    if (sent_of_first_ < first.size()) continue;
    bytes_ -= first.size();
    sent_of_first_ = 0;
    waiting_.pop_front();
  }
  return {};
}

std::optional<std::string> line_reader::take_line() {
  const std::size_t end = bytes_.find('\n', searched_);
  searched_ = bytes_.size();
  if (end == std::string::npos) return std::nullopt;
  std::string line = bytes_.substr(0, end);
  bytes_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

expected<std::optional<std::string>> line_reader::next(int socket) {
  std::array<char, bytes_per_read> bytes;
  while (true) {
    if (auto line = take_line()) return line;
    if (is_closed_) return std::nullopt;
    if (bytes_.size() > limits::launch_line_bytes_max) {
      return fail(error_code::wire_too_large, socket_name,
                  "a line has more than " + std::to_string(limits::launch_line_bytes_max) + " bytes");
    }
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got < 0 && errno != ECONNRESET) return fail(error_code::process_failed, socket_name, "recv: " + errno_text());
    if (got <= 0) {
      is_closed_ = true;
    } else {
      bytes_.append(bytes.data(), static_cast<std::size_t>(got));
    }
  }
}

}  // namespace troupe
