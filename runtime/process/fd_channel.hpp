#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Descriptors, owned by the message, and a few bytes that name them.
struct fd_message {
  std::string tag;
  std::vector<unique_fd> fds;
};

enum class channel_status {
  done,    ///< sent; or received, and there is a message
  empty,   ///< nothing to receive now, or no room to send now: nothing happened
  closed,  ///< the other end is closed; what it had sent before was received
};

struct channel_input {
  channel_status status = channel_status::empty;
  fd_message message;  ///< filled only if done
};

/// The connection between driver and worker over which file descriptors travel: one end of a unix socketpair
/// (SOCK_SEQPACKET, close-on-exec). Messages arrive whole, in order, each once. Nothing blocks: wait with poll() on
/// fd(). One thread uses an end at a time. Every message carries its sender's pid and uid, which the kernel fills in:
/// one from another user, or not from the expected process, is refused (E0707) and what came with it is closed.
class fd_channel {
 public:
  /// The driver's end, and the socket that a worker inherits and adopts. E0614 if the system has none left.
  [[nodiscard]] static expected<std::pair<fd_channel, unique_fd>> make();

  /// A worker's end: `socket` is checked to be such a socket, made by `maker` under this user (E0707 otherwise), and is
  /// closed in the next exec. The maker is the only sender from whom messages are taken.
  [[nodiscard]] static expected<fd_channel> adopt(unique_fd socket, pid_t maker);

  /// From now on messages of all other processes are refused: the driver calls this once the worker's pid is known.
  void expect_sender(pid_t sender) noexcept { sender_ = sender; }

  /// `tag`: 1 to channel_tag_bytes_max bytes; `fds`: up to channel_fds_max, which stay the caller's. E0701 for more,
  /// E0614 if the system refuses (a closed descriptor, too many on their way).
  [[nodiscard]] expected<channel_status> send(std::string_view tag, std::span<const int> fds = {});

  /// E0702 for a message that is too long, has too many descriptors or none of the expected form, E0707 for one of
  /// another sender. Such a message is gone, its descriptors are closed, and the next one may be received.
  [[nodiscard]] expected<channel_input> receive();

  /// From now on the other end sends nothing: to it this one is closed. What it sent before can still be received.
  void refuse_more() noexcept;

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

 private:
  explicit fd_channel(unique_fd socket) noexcept : socket_(std::move(socket)) {}

  unique_fd socket_;
  std::optional<pid_t> sender_;
};

}  // namespace troupe
