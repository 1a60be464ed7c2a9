#pragma once

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include <asio/any_io_executor.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/ip/tcp.hpp>

#include "runtime/edge/tcp/tls_credentials.hpp"
#include <troupe/error.hpp>

struct x509_st;
struct x509_store_ctx_st;

namespace troupe {

/// A socket of tcp, or a unix socket that a process has inherited.
using wire_socket = asio::generic::stream_protocol::socket;

/// What one call has moved. No bytes and no error: the socket has nothing, or no room, now.
struct transfer {
  std::size_t bytes = 0;
  std::error_code failed;
};

/// transfer::failed where the other side has called say_rejected().
inline constexpr std::errc said_rejected = std::errc::connection_refused;

/// The bytes of one connection, as they are or through TLS. With connection.hpp, tcp_core.hpp, runtime/link and
/// runtime/join the only place that knows asio. Threads: the I/O thread. Reading and writing never wait; each is tried
/// again when its wait is over. At most one wait for each may be under way. Handlers are called later, never from
/// within, and must keep this stream alive.
class wire_stream {
 public:
  using on_done = std::function<void(std::error_code)>;
  using pieces = std::span<const std::span<const std::byte>>;

  wire_stream() = default;
  wire_stream(const wire_stream&) = delete;
  wire_stream& operator=(const wire_stream&) = delete;
  virtual ~wire_stream() = default;

  virtual void handshake(bool as_server, on_done done) = 0;
  /// At most into.size() bytes. The end of the stream is the error asio::error::eof.
  [[nodiscard]] virtual transfer read_some(std::span<std::byte> into) = 0;
  /// Takes some of these bytes, in order. They are on their way when flush() has found nothing left.
  [[nodiscard]] virtual transfer write_some(pieces from) = 0;
  /// `bytes` are those that were taken and are not with the kernel yet.
  [[nodiscard]] virtual transfer flush() = 0;
  virtual wire_socket& socket() noexcept = 0;
  /// The last word to a peer that is not wanted; with TLS an alert that closes the connection in order (close_notify),
  /// which nothing else here sends and which no other program can forge. Nothing without TLS.
  virtual void say_rejected() {}
  /// After the handshake: what the other side showed and this side believed; null without TLS, and if it showed none.
  [[nodiscard]] virtual x509_st* peer_certificate() noexcept { return nullptr; }

  /// Until read_some(), or write_some() and flush(), are worth another try.
  virtual void wait_readable(on_done done) { socket().async_wait(wire_socket::wait_read, std::move(done)); }
  virtual void wait_writable(on_done done) { socket().async_wait(wire_socket::wait_write, std::move(done)); }
};

/// Whether a client without a certificate gets through the handshake. It is shown the authority's certificate beside
/// the server's, as it has only a hash of that certificate.
enum class client_certificate : std::uint8_t { required, optional };

/// The own certificate, if any, and the trusted authority; shared by all connections of a process.
class tls_context {
 public:
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;
  virtual ~tls_context() = default;

  /// TLS 1.3 alone; both sides show a certificate of `ca`. Errors: E0404, if a text is no such PEM or key and
  /// certificate do not belong together.
  [[nodiscard]] static expected<std::unique_ptr<tls_context>> make(
      const tls_credentials& credentials, client_certificate of_clients = client_certificate::required);
  /// For a client that shows no certificate. `verifies` verifies the chain of the server, in the place of OpenSSL's
  /// X509_verify_cert(). Errors: E0601 if OpenSSL fails.
  [[nodiscard]] static expected<std::unique_ptr<tls_context>> make_nameless(
      std::function<bool(x509_store_ctx_st*)> verifies);
  [[nodiscard]] virtual std::unique_ptr<wire_stream> stream(wire_socket socket) = 0;

 protected:
  tls_context() = default;
};

[[nodiscard]] std::unique_ptr<wire_stream> plain_stream(wire_socket socket);

/// For a connection to that address; close-on-exec, as asio's own are not. Without a descriptor it is not open, and
/// whatever is done with it fails.
[[nodiscard]] wire_socket new_tcp_socket(const asio::any_io_executor& executor, const asio::ip::tcp::endpoint& to);

}  // namespace troupe
