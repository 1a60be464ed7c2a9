#include <array>

#include <sys/socket.h>

#include "messages/try.hpp"
#include "runtime/launch/launch_channel.hpp"
#include "runtime/os/errno_text.hpp"

namespace troupe {

expected<std::pair<launcher_channel, unique_fd>> launcher_channel::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(error_code::process_failed, "launch channel", "socketpair: " + errno_text(),
                "raise the limit of open files (ulimit -n)");
  }
  return std::pair(launcher_channel(unique_fd(ends[0])), unique_fd(ends[1]));
}

expected<void> launcher_channel::send(const launch_message& message) {
  return encode(message).and_then([&](std::string&& line) { return writer_.queue(std::move(line)); }).and_then([&] {
    return flush();
  });
}

expected<std::optional<launch_message>> launcher_channel::receive() {
  const auto line = TROUPE_TRY(reader_.next(socket_.get()));
  if (!line) return std::nullopt;
  auto message = TROUPE_TRY(parse_launch_message(*line));
  if (std::holds_alternative<launch_ticket>(message) || std::holds_alternative<launch_joined>(message) ||
      std::holds_alternative<launch_end_asked>(message))
    return message;
  return fail(error_code::wire_malformed, "launch channel", "the driver says what launchers say");
}

}  // namespace troupe
