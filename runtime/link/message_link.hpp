#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "messages/codec/codec.hpp"
#include "runtime/edge/arrival_faults.hpp"
#include "runtime/edge/tcp/tls_credentials.hpp"
#include "runtime/link/liveness.hpp"
#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

/// The control plane between a driver and its processes (docs/control_plane.md): the bytes of messages/codec as frames
/// over one connection, with the frames, the liveness and the limits of tcp edges.
namespace troupe {

/// What an end of a link is told: on the thread of its link_loop, or of the endpoint that accepted it; must not wait.
struct link_events {
  /// Whole messages, in order, each once. The bytes may be anything.
  std::function<void(codec::bytes message)> on_message;
  /// Once at most: the other end has closed, is silent, sent malformed bytes, takes nothing, could not be reached or is
  /// another than it must be. The link is silent from then on. E0701 to E0708.
  std::function<void(const error& why)> on_lost;
  /// Twice per liveness::heartbeat(), while the link stands and this process is not frozen. May be null.
  std::function<void()> on_beat = nullptr;
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
  /// Bytes of messages that are sent and have not left.
  [[nodiscard]] virtual std::size_t queued_bytes() const = 0;
  /// The process at the other end has ended, or is given up. After all that it had said, at most a moment later, `done`
  /// is called, on the loop's thread, and nothing after it; on_lost is not. The connection ends with that. Once.
  virtual void peer_has_ended(std::function<void()> done) = 0;
  /// Under a fault plan, once: the connection, heartbeats included, is silent and closed as these say from now on.
  /// Without effect where there is no connection yet.
  virtual void disturb([[maybe_unused]] const std::shared_ptr<arrival_faults>& faults) {}
  /// Soon nothing is told any more; a message may be on its way to on_message. What was sent before still goes out, if
  /// the other end takes it; then the connection ends, and the other end is told its loss. Without it a link lives
  /// until its loss or the end of its loop, even if no handle is left.
  virtual void close() = 0;
};

enum class link_side : std::uint8_t {
  driver,  ///< hears the first word, however long the worker takes to start
  worker,  ///< says it
};

class link_thread;

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

  /// A link of a node to the driver's tcp_endpoint (link_acceptor.hpp) at this numeric address: TLS 1.3 with both
  /// certificates, of which the other must be the driver's. Connects at start(), and again if the driver closes before
  /// its answer, as it may have more peers than room: until `at_most` later, each attempt within
  /// limits::tcp_handshake_timeout, or until it has refused limits::link_rejections_max times or as often did not
  /// listen. on_lost tells why the last attempt did not reach it (E0708) or was refused (E0707). Its liveness is the
  /// driver's. Errors: E0404 for an address that is not numeric, and for unusable credentials.
  [[nodiscard]] expected<std::shared_ptr<message_link>> dial(
      const std::string& address, std::uint16_t port, const tls_credentials& own,
      std::chrono::milliseconds at_most = limits::tcp_handshake_timeout);

 private:
  explicit link_loop(std::unique_ptr<link_thread> thread);
  const std::unique_ptr<link_thread> thread_;
};

/// A connected pair of unix stream sockets, close-on-exec: the driver's end, and the one that a worker inherits. The
/// pair is the worker's identity: no other process can have an end. E0614 if the system has none left.
[[nodiscard]] expected<std::pair<unique_fd, unique_fd>> make_link_sockets();

}  // namespace troupe
