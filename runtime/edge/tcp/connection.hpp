#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "runtime/edge/tcp/buffer_pool.hpp"
#include "runtime/edge/tcp/disturbed_stream.hpp"
#include "runtime/edge/tcp/frame_decoder.hpp"
#include "runtime/edge/tcp/outgoing_frame.hpp"
#include "runtime/edge/tcp/socket_io.hpp"
#include "runtime/edge/tcp/wire_stream.hpp"
#include "runtime/os/freeze_watch.hpp"

namespace troupe {

class connection;

/// What a connection is about: an untrusted peer, a caller, the sending or the receiving end of an edge. One thread at
/// a time: the I/O thread, and in next() also one that calls connection::pump_here().
class connection_role {
 public:
  connection_role() = default;
  connection_role(const connection_role&) = delete;
  connection_role& operator=(const connection_role&) = delete;
  virtual ~connection_role() = default;

  /// The connection stands; with TLS, the peer's certificate is one of the run. An error ends it.
  virtual expected<void> on_handshake(connection&) { return {}; }
  /// Where a payload shall lie; null if there is no memory for it.
  virtual std::shared_ptr<aligned_buffer> place_for(std::uint64_t) { return nullptr; }
  /// So many bytes have come, after which a payload is not complete.
  virtual void on_part(std::size_t) {}
  /// An error ends the connection. `payload` is empty and `owner` null where there is none.
  virtual expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                                  std::shared_ptr<aligned_buffer> owner) = 0;
  /// Begins the next frame, if there is one. What it views must stay until the next call.
  virtual expected<bool> next(outgoing_frame& out) = 0;
  /// Both sides have closed.
  [[nodiscard]] virtual bool finished() const { return false; }
  /// This side has closed and the other not yet: worth waiting for when an endpoint stops.
  [[nodiscard]] virtual bool leaving() const { return false; }
  /// Has not shown to belong to the run.
  [[nodiscard]] virtual bool is_untrusted() const { return false; }
  virtual void lost(const error& why, const std::string& peer) = 0;
  /// One of the two sides has found that it wants nothing to do with the other, and over TLS the other side has said so
  /// itself; or nothing listens there. Another attempt will hardly fare better. lost() follows. Any other end says
  /// nothing about this side: there may have been no room.
  virtual void rejected() {}
  /// Twice per connection_limits::keep_alive, while the connection stands.
  virtual void on_beat() {}
};

struct connection_limits {
  std::chrono::milliseconds handshake{};
  std::chrono::milliseconds keep_alive{};
  std::chrono::milliseconds silence{};
  std::uint64_t payload_bytes_max = 0;
};

/// Frames but pings, over all connections of an endpoint.
struct frame_traffic {
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> handled{0};
};

/// One socket: frames in and out, one at a time each way, deadlines and keep-alive. Lives until it ends, held by its
/// own handlers. I/O thread only, but for pump_here().
class connection final : public std::enable_shared_from_this<connection> {
 public:
  /// `on_end` is called once, and `traffic` lives until then.
  connection(std::unique_ptr<wire_stream> stream, const connection_limits& limits, frame_traffic& traffic,
             std::shared_ptr<connection_role> role, std::function<void(connection&)> on_end);

  /// A peer that has connected, or the other end of an inherited socket.
  void serve();
  void dial(const asio::ip::tcp::endpoint& to);
  /// The peer is known: its deadline is replaced by keep-alive, as `limits` say or those that it was made with.
  void assume(std::shared_ptr<connection_role> role, const std::optional<connection_limits>& limits = {});
  /// The same deadline, another role.
  void pass_to(std::shared_ptr<connection_role> role) { role_ = std::move(role); }
  /// Before assume() payloads are refused. Larger ones are still.
  void permit_payloads(std::uint64_t bytes_max) noexcept { decoder_.limit_payloads(bytes_max); }
  /// Sets the node that the peer has shown to be.
  void know_peer(std::string node) { node_ = std::move(node); }

  /// Writes what the role has to say, unless a write is under way.
  void pump();
  /// Any thread: the same, as far as the socket takes it at once, unless the I/O thread is at work here. The rest, and
  /// errors, are left to that thread. False: it must pump().
  [[nodiscard]] bool pump_here();
  /// Ends without a word to the role: the other side sees the socket close.
  void drop();
  /// The same, and with TLS the other side sees that it was rejected.
  void turn_away();
  /// Ends an untrusted peer for the next one; it is not rejected.
  void make_room();
  /// Under a fault plan, once, between two frames if it is an edge: what comes from now on suffers this.
  void disturb(std::shared_ptr<arrival_faults> faults, disturbed_content content) {
    stream_ = disturb_stream(std::move(stream_), std::move(faults), content);
  }

  /// Nothing has come and nothing has gone for so long and a round trip to this peer, and nothing waits to be read. Of
  /// tcp.
  [[nodiscard]] bool is_idle(std::chrono::milliseconds beyond_round_trip) const;
  [[nodiscard]] bool is_untrusted() const { return !ended_ && role_->is_untrusted(); }
  [[nodiscard]] bool is_established() const noexcept { return established_; }
  [[nodiscard]] bool is_writing() const {
    const std::scoped_lock lock(guard_);
    return writing_;
  }
  [[nodiscard]] bool is_leaving() const {
    const std::scoped_lock lock(guard_);
    return !finishing_ && role_->leaving();
  }
  /// Address and port.
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
  /// Numeric addresses of both ends without ports; empty where there is none.
  [[nodiscard]] std::string peer_address() const;
  [[nodiscard]] std::string own_address() const;
  /// wire_stream::peer_certificate().
  [[nodiscard]] x509_st* peer_certificate() const noexcept { return stream_->peer_certificate(); }
  /// Empty for the driver; nothing where names are not compared, and of a peer without a certificate.
  [[nodiscard]] const std::optional<std::string>& peer_node() const noexcept { return node_; }
  [[nodiscard]] asio::any_io_executor executor() const { return stream_->socket().get_executor(); }

 private:
  using clock = std::chrono::steady_clock;

  template <class Act>
  auto handler(Act act);
  void begin(bool as_server);
  void on_connected(std::error_code failed);
  void on_handshake(std::error_code failed);
  void on_readable(std::error_code failed);
  void on_writable(std::error_code failed);
  void read();
  expected<bool> read_chunk();
  [[nodiscard]] bool expects_more() const;
  expected<void> take();
  expected<void> take_head();
  expected<void> deliver(std::span<const std::byte> payload);
  void write();
  expected<bool> write_chunk();
  bool begin_next();
  void wait_to_read();
  void wait_to_write();
  template <class Act>
  void after_others(Act act);
  void finish();
  void fail(const error& why);
  void fail(error_code code, const std::string& cause);
  void end(const error& why, bool is_rejection);
  void watch(std::chrono::milliseconds after);
  void look_at_the_clock();

  /// Recursive, as roles end their connections.
  mutable std::recursive_mutex guard_;
  std::unique_ptr<wire_stream> stream_;
  connection_limits limits_;
  frame_traffic& traffic_;
  std::shared_ptr<connection_role> role_;
  std::function<void(connection&)> on_end_;
  std::string peer_;
  std::optional<std::string> node_;
  frame_decoder decoder_{0};
  wake_level wake_level_;
  std::shared_ptr<aligned_buffer> payload_;
  outgoing_frame out_;
  bool out_counts_ = false;
  asio::steady_timer timer_;
  clock::time_point last_read_;
  /// Looks at the clock as often as watch() says, unless this process is frozen.
  std::optional<freeze_watch> freezes_;
  clock::time_point last_written_;
  bool connected_ = false;
  bool secured_ = false;
  bool established_ = false;
  bool writing_ = false;
  bool finishing_ = false;
  /// By the other side, in a word of TLS.
  bool rejected_ = false;
  bool ended_ = false;
};

}  // namespace troupe
