#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "messages/limits.hpp"
#include "runtime/edge/arrival_faults.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/tcp/edge_key.hpp"
#include "runtime/edge/tcp/tls_credentials.hpp"

struct x509_st;

namespace troupe {

class expected_addresses;
class peer_admission;
class tcp_core;

struct tcp_endpoint_options {
  /// A numeric address, v4 or v6. Anything but loopback needs `tls`.
  std::string address = "127.0.0.1";
  /// 0: one that is free.
  std::uint16_t port = 0;
  /// A listening socket of tcp in the place of address and port; -1: none. open() takes it, also when it fails.
  int listener = -1;
  /// With it every connection is TLS 1.3 with certificates on both sides, but see `joins`; without it none is.
  std::optional<tls_credentials> tls;
  /// The node that a certificate of the run is of, empty for the driver (peer_name.hpp has one). Without it names are
  /// not compared. I/O thread.
  std::function<expected<std::string>(x509_st*)> node_of;
  /// Takes the peers whose first frame is `link`; null: they are refused. Needs `tls` and `node_of`, as `joins` does.
  std::shared_ptr<peer_admission> links;
  /// Takes the peers that have no certificate, whose first frame must be `join`; null: no such peer passes TLS.
  std::shared_ptr<peer_admission> joins;
  /// Connections from there have seats of their own, as many as all others, so that those cannot keep them out
  /// (untrusted_peers). Null: one of its own. Addresses that edges are awaited from are added.
  std::shared_ptr<expected_addresses> expected_peers;
  /// Required for edges.
  std::shared_ptr<const payload_codec> codec;
  /// A checksum over each payload sent; nothing: without TLS only, as the tags of its records cover the same bytes.
  /// Each frame says whether it carries one, and one that is there is always compared: the two sides need not agree.
  std::optional<bool> payload_crc;
  /// Larger ones are refused before memory is taken for them; at most limits::frame_payload_bytes_max.
  std::uint64_t payload_bytes_max = limits::frame_payload_bytes_max;
  /// An untrusted peer has so long for TLS and hello, and connect() in all.
  std::chrono::milliseconds handshake_timeout = limits::tcp_handshake_timeout;
  std::chrono::milliseconds attach_timeout = limits::tcp_attach_timeout;
  /// silence_timeout is more than twice keep_alive, and more than the codec needs for one payload.
  std::chrono::milliseconds keep_alive = limits::tcp_keep_alive;
  std::chrono::milliseconds silence_timeout = limits::tcp_silence_timeout;
  /// Who connected and was refused, and why (E0707), for the log. I/O thread; must not block.
  std::function<void(const error&)> on_refused;
};

struct tcp_edge_options {
  edge_options edge;
  /// E0708, naming edge and peer; at most once; I/O thread, or within accept() where a newer epoch takes the place.
  /// Must not destroy the end or the endpoint, nor call them.
  std::function<void(const error&)> on_lost = {};
  /// edge_site::arrived_bytes.
  std::shared_ptr<std::atomic<std::uint64_t>> arrived_bytes = nullptr;
  /// The node that the other end must be of, empty for the driver. Compared where names are (node_of); without it any
  /// peer of the run may be it.
  std::optional<std::string> peer = std::nullopt;
  /// Null without a fault plan. A sending end suffers no damage.
  std::shared_ptr<arrival_faults> faults = nullptr;
  /// Of accept(): the numeric address that the peer is expected from; it may come from another one. Empty: unknown.
  std::string peer_address = {};
};

/// The edges of a process to other processes: a listening socket and one I/O thread for all of them (docs/wire.md).
///
/// The ends keep the contract of edge.hpp, with its bells. What they add:
/// - A payload is copied: the I/O thread writes it and drops its handle, and at the other end payload_codec::read()
///   views a buffer that is used again when the payload is gone. Once warm no buffer is allocated. try_send() throws
///   what payload_codec::size_of() throws, as shm's does, and leaves the activation untouched then.
/// - A peer that is lost (closed without a word, silent, or sends malformed bytes) makes an end *silent*: credits() is
///   0, try_send() answers no_credit, nothing is received beyond what had arrived, exhausted() stays false. on_lost
///   tells it. An end whose peer has closed before is not lost any more. A slow peer exerts back-pressure, no more.
/// - abandon() closes the socket, and the other end is lost.
/// - An end may outlive the endpoint; it is silent then. Destroying an end waits for the I/O thread to leave its bell
///   alone, for a moment, and its bell may go then, abandoned or not.
/// Threads: accept(), connect() and stop() from any but the I/O thread.
class tcp_endpoint {
 public:
  /// Listens. Errors: E0404 (no numeric address, not loopback and no TLS, unusable credentials, time-outs that make no
  /// sense), E0614 (the address cannot be bound).
  [[nodiscard]] static expected<std::unique_ptr<tcp_endpoint>> open(tcp_endpoint_options options);
  tcp_endpoint(const tcp_endpoint&) = delete;
  tcp_endpoint& operator=(const tcp_endpoint&) = delete;
  ~tcp_endpoint();

  [[nodiscard]] std::uint16_t port() const noexcept;

  /// The receiving end of the edge with this key. Its peer may connect from now on, once, until attach_timeout has
  /// passed (E0708 by on_lost). Errors: E0707, if the edge is already accepted in this epoch or a newer one.
  [[nodiscard]] expected<std::unique_ptr<edge_consumer>> accept(const edge_key& key, tcp_edge_options options);

  /// The sending end, connected and admitted; waits for that up to handshake_timeout. The other side must have accepted
  /// before. `host` is a numeric address. Errors: E0404 (as open()), E0707 (refused), E0708 (not reached).
  [[nodiscard]] expected<std::unique_ptr<edge_producer>> connect(const std::string& host, std::uint16_t port,
                                                                 const edge_key& key, tcp_edge_options options);

  /// The sending end, at once: connected in the background, and tried again while the other side does not listen or has
  /// not accepted yet, up to attach_timeout (E0708 by on_lost). It has its credits from the start; messages leave when
  /// it is admitted. Errors: E0404 (as open()).
  [[nodiscard]] expected<std::unique_ptr<edge_producer>> connect_later(const std::string& host, std::uint16_t port,
                                                                       const edge_key& key, tcp_edge_options options);

  /// Refuses new peers, writes queued frames and waits up to `at_most` for the other side of closed edges; then cuts
  /// all connections and joins the thread. Idempotent; the destructor calls it.
  void stop(std::chrono::milliseconds at_most = limits::tcp_stop_timeout) noexcept;

  /// For tests with both ends of all edges in this process: nothing is under way now.
  [[nodiscard]] bool is_settled() const;
  /// For tests: sockets that are open beside the listening one.
  [[nodiscard]] std::size_t connections() const;

 private:
  explicit tcp_endpoint(std::shared_ptr<tcp_core> core) : core_(std::move(core)) {}
  const std::shared_ptr<tcp_core> core_;
};

}  // namespace troupe
