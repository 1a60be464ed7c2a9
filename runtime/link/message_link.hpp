#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "messages/codec/codec.hpp"
#include "runtime/link/liveness.hpp"
#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

/// The control plane between a driver and its processes (docs/control_plane.md): the bytes of messages/codec as frames
/// over one connection, with the frames, the liveness and the limits of tcp edges.
namespace troupe {

/// What an end of a link is told: on the thread of its link_loop; must not wait.
struct link_events {
  /// Whole messages, in order, each once. The bytes may be anything.
  std::function<void(codec::bytes message)> on_message;
  /// Once at most: the other end has closed, is silent, said what is no frame, or takes nothing. The link is silent
  /// from then on. E0701 to E0708.
  std::function<void(const error& why)> on_lost;
};

/// One end of a link. Threads: any. What was sent shortly before a loss may be lost.
class message_link {
 public:
  message_link() = default;
  message_link(const message_link&) = delete;
  message_link& operator=(const message_link&) = delete;
  virtual ~message_link() = default;

  /// Once. What came before is told now.
  virtual void start(link_events events) = 0;
  /// Nothing happens once the link is lost. An end at which limits::link_bytes_queued_max wait is lost.
  virtual void send(codec::bytes message) = 0;
  /// Of messages that are sent and have not left.
  [[nodiscard]] virtual std::size_t queued_bytes() const = 0;
  /// The process at the other end has ended. After all that it had said `done` is called, on the loop's thread, and
  /// nothing after it; on_lost is not. Once.
  virtual void peer_has_ended(std::function<void()> done) = 0;
};

enum class link_side : std::uint8_t {
  driver,  ///< hears the first word, however long the worker takes to start
  worker,  ///< says it
};

struct link_core;

/// The thread of all links of a process. Its end cuts them: nothing is told any more, and nothing that is queued goes
/// out. Threads: any but its own.
class link_loop {
 public:
  /// E0614 where the system gives no thread.
  [[nodiscard]] static expected<std::unique_ptr<link_loop>> create(const liveness& times);
  link_loop(const link_loop&) = delete;
  link_loop& operator=(const link_loop&) = delete;
  ~link_loop();

  /// An end of make_link_sockets().
  [[nodiscard]] std::shared_ptr<message_link> open(unique_fd socket, link_side side);

 private:
  explicit link_loop(std::shared_ptr<link_core> core) : core_(std::move(core)) {}
  const std::shared_ptr<link_core> core_;
};

/// A connected pair of unix stream sockets, close-on-exec: the driver's end, and the one that a worker inherits. The
/// pair is the worker's identity: no other process can have an end. E0614 if the system has none left.
[[nodiscard]] expected<std::pair<unique_fd, unique_fd>> make_link_sockets();

}  // namespace troupe
