#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/launch_channel.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

constexpr const char* driver_end = "launch channel";

int socket_option(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/// The launcher need not be the parent: the user may have put a script in between.
expected<void> check_inherited(int socket) {
  const auto refused = [](std::string cause) {
    return fail(error_code::wire_handshake, driver_end, std::move(cause),
                "do not set TROUPE_LAUNCH: it is for programs that troupe launch starts");
  };
  if (socket_option(socket, SO_DOMAIN) != AF_UNIX || socket_option(socket, SO_TYPE) != SOCK_STREAM)
    return refused("descriptor " + std::to_string(socket) + " is no unix stream socket");
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return refused("SO_PEERCRED: " + errno_text());
  if (peer.uid != ::geteuid()) return refused("made by user " + std::to_string(peer.uid));
  return {};
}

/// Waits for the events. False at the deadline.
bool await_events(int socket, short events, steady_clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd waited{socket, events, 0};
    if (::poll(&waited, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000))) > 0) return true;
    if (steady_clock::now() >= deadline) return false;
  }
}

tl::unexpected<error> launcher_lost(std::string cause) {
  return fail(error_code::peer_lost, driver_end, std::move(cause), "look at the end of troupe launch");
}

constexpr auto no_deadline = steady_clock::time_point::max();

}  // namespace

expected<std::unique_ptr<driver_channel>> driver_channel::open(const launch_environment& environment,
                                                               time_point deadline) {
  unique_fd socket(environment.channel);
  TROUPE_TRY(check_inherited(socket.get()));
  std::unique_ptr<driver_channel> made(new driver_channel(std::move(socket)));
  return made->await_setup(deadline).map([&] { return std::move(made); });
}

driver_channel::~driver_channel() {
  is_closing_ = true;
  // which also wakes the thread
  ::shutdown(socket_.get(), SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
}

expected<void> driver_channel::await_setup(time_point deadline) {
  auto first = TROUPE_TRY(next_message(deadline));
  if (!first) return launcher_lost("the launcher has ended, or has said nothing in time");
  auto* setup = std::get_if<launch_setup>(&*first);
  if (setup == nullptr) return fail(error_code::wire_malformed, driver_end, "the first message is no setup");
  setup_ = std::move(*setup);
  return {};
}

/// Nothing when the channel is closed, or at the deadline.
expected<std::optional<launch_message>> driver_channel::next_message(time_point deadline) {
  while (true) {
    const auto line = TROUPE_TRY(reader_.next(socket_.get()));
    if (line) return parse_launch_message(*line).map([](launch_message&& m) { return std::optional(std::move(m)); });
    if (reader_.is_closed()) return std::nullopt;
    // with no deadline the wait is repeated
    const auto until = deadline == no_deadline ? steady_clock::now() + limits::channel_timeout : deadline;
    if (!await_events(socket_.get(), POLLIN, until) && deadline != no_deadline) return std::nullopt;
  }
}

expected<void> driver_channel::send_line(const launch_message& message) {
  auto line = TROUPE_TRY(encode(message));
  const auto deadline = steady_clock::now() + limits::channel_timeout;
  const std::lock_guard lock(writing_);
  auto sent = writer_.queue(std::move(line)).and_then([&] { return writer_.flush(socket_.get()); });
  while (sent && !writer_.is_empty()) {
    if (!await_events(socket_.get(), POLLOUT, deadline)) return launcher_lost("the launcher takes nothing");
    sent = writer_.flush(socket_.get());
  }
  return sent;
}

expected<void> driver_channel::listen(driver_listener listener) {
  TROUPE_CHECK(!thread_.joinable(), "a driver listens once");
  // signals are for other threads of the program
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  auto thread = start_thread("launch channel", [this, heard = std::move(listener)] { run(heard); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!thread) return tl::make_unexpected(thread.error());
  thread_ = std::move(*thread);
  return {};
}

void driver_channel::run(const driver_listener& listener) noexcept {
  const error why = hear(listener);
  if (!is_closing_ && listener.on_closed) listener.on_closed(why);
}

/// Until the end, which it returns.
error driver_channel::hear(const driver_listener& listener) {
  while (true) {
    const auto message = next_message(no_deadline);
    if (!message) return message.error();
    if (!*message) return launcher_lost("the launcher has ended").value();
    if (const auto* failed = std::get_if<launch_agent_failed>(&**message)) {
      if (listener.on_agent_failed) listener.on_agent_failed(*failed);
    } else if (const auto* stop = std::get_if<launch_stop>(&**message)) {
      if (listener.on_stop) listener.on_stop(*stop);
    } else {
      return {error_code::wire_malformed, driver_end, "the launcher says what drivers say", ""};
    }
  }
}

}  // namespace troupe
