#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/launch/launch_environment.hpp"
#include "runtime/launch/launch_message.hpp"
#include "runtime/launch/line_socket.hpp"
#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The launcher's end of the channel to its driver: a unix stream socket with a line of JSON per message, in order.
/// Nothing blocks: wait with poll() on fd(). One thread at a time.
class launcher_channel {
 public:
  /// This end, and the socket that the driver inherits (launch_environment). E0614 if the system has none left.
  [[nodiscard]] static expected<std::pair<launcher_channel, unique_fd>> make();

  /// Sends the message; flush() sends its rest. E0708 if the driver's end is closed or takes nothing; the errors of
  /// encode().
  [[nodiscard]] expected<void> send(const launch_message& message);
  [[nodiscard]] expected<void> flush() { return writer_.flush(socket_.get()); }
  /// poll() for POLLOUT, and flush().
  [[nodiscard]] bool has_more_to_send() const noexcept { return !writer_.is_empty(); }

  /// The next message; nothing if there is none now, or none any more. Errors of parse_launch_message() and
  /// line_reader; E0702 for what a driver does not say.
  [[nodiscard]] expected<std::optional<launch_message>> receive();
  /// The driver's end is closed and all messages were received.
  [[nodiscard]] bool is_closed() const noexcept { return reader_.is_closed(); }

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

 private:
  explicit launcher_channel(unique_fd socket) noexcept : socket_(std::move(socket)) {}

  unique_fd socket_;
  line_writer writer_;
  line_reader reader_;
};

/// What a driver hears from its launcher, on a thread of the channel; a call may wait, but must not throw. Each may be
/// empty.
struct driver_listener {
  std::function<void(const launch_agent_failed&)> on_agent_failed;
  std::function<void(const launch_stop&)> on_stop;
  /// Once, and the last call: the launcher has ended, or has sent a line that is no message. The driver then ends
  /// itself: no kernel does that for one that a script of the user has started.
  std::function<void(const error& why)> on_closed;
};

/// The driver's end.
class driver_channel {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Takes the inherited socket and waits for the setup. E0707 for a descriptor that is no such socket or is another
  /// user's, E0708 if the launcher has ended or has said nothing by `deadline`, errors of parse_launch_message().
  [[nodiscard]] static expected<std::unique_ptr<driver_channel>> open(const launch_environment& environment,
                                                                      time_point deadline);
  driver_channel(const driver_channel&) = delete;
  driver_channel& operator=(const driver_channel&) = delete;
  /// Closes the channel, without on_closed, and joins its thread: never in a call of the listener.
  ~driver_channel();

  [[nodiscard]] const launch_setup& setup() const noexcept { return setup_; }

  /// From any thread, in the order of the calls. Waits at most limits::channel_timeout. E0708 if the launcher has
  /// ended, or takes nothing for that time.
  [[nodiscard]] expected<void> send(const launch_ticket& ticket) { return send_line(ticket); }
  [[nodiscard]] expected<void> send(const launch_joined& joined) { return send_line(joined); }
  [[nodiscard]] expected<void> send(const launch_end_asked& asked) { return send_line(asked); }

  /// Starts to listen; once. What came before is delivered then. E0614 without a thread.
  [[nodiscard]] expected<void> listen(driver_listener listener);

 private:
  explicit driver_channel(unique_fd socket) noexcept : socket_(std::move(socket)) {}
  [[nodiscard]] expected<void> await_setup(time_point deadline);
  [[nodiscard]] expected<void> send_line(const launch_message& message);
  [[nodiscard]] expected<std::optional<launch_message>> next_message(time_point deadline);
  void run(const driver_listener& listener) noexcept;
  [[nodiscard]] error hear(const driver_listener& listener);

  unique_fd socket_;
  launch_setup setup_;
  line_reader reader_;
  std::mutex writing_;
  line_writer writer_;
  std::atomic<bool> is_closing_{false};
  std::thread thread_;
};

}  // namespace troupe
