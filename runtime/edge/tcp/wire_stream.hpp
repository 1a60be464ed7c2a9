#pragma once

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <system_error>

#include <asio/any_io_executor.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/ip/tcp.hpp>

#include "runtime/edge/tcp/tls_credentials.hpp"
#include <troupe/error.hpp>

struct x509_st;
struct x509_store_ctx_st;

namespace troupe {

/// Of tcp, or a unix socket that a process has inherited.
using wire_socket = asio::generic::stream_protocol::socket;

/// The bytes of one connection, as they are or through TLS. With connection.hpp, tcp_core.hpp, runtime/link and
/// runtime/join the only place that knows asio. Threads: the I/O thread. One read and one write may be under way at a
/// time; what they name must stay until their handler was called. Handlers are called later, never from within.
class wire_stream {
 public:
  using on_done = std::function<void(std::error_code)>;
  using on_bytes = std::function<void(std::error_code, std::size_t)>;

  wire_stream() = default;
  wire_stream(const wire_stream&) = delete;
  wire_stream& operator=(const wire_stream&) = delete;
  virtual ~wire_stream() = default;

  virtual void handshake(bool as_server, on_done done) = 0;
  virtual void read_some(std::span<std::byte> into, on_bytes done) = 0;
  /// All of `head` and then all of `body`.
  virtual void write(std::span<const std::byte> head, std::span<const std::byte> body, on_bytes done) = 0;
  virtual wire_socket& socket() noexcept = 0;
  /// After the handshake: what the other side showed and this side believed; null without TLS, and if it showed none.
  [[nodiscard]] virtual x509_st* peer_certificate() noexcept { return nullptr; }
};

/// Whether a client without a certificate gets through the handshake. It is shown the authority's certificate beside
/// the server's, as it has only a hash of it.
enum class client_certificate : std::uint8_t { required, optional };

/// Certificates and what is believed; shared by all connections of a process.
class tls_context {
 public:
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;
  virtual ~tls_context() = default;

  /// TLS 1.3 alone; both sides show a certificate of `ca`. Errors: E0404, if a text is no such PEM or key and
  /// certificate do not belong together.
  [[nodiscard]] static expected<std::unique_ptr<tls_context>> make(
      const tls_credentials& credentials, client_certificate of_clients = client_certificate::required);
  /// For a client that shows no certificate. `believes` verifies the chain of the server, in the place of OpenSSL's
  /// X509_verify_cert(). Errors: E0601 if OpenSSL fails.
  [[nodiscard]] static expected<std::unique_ptr<tls_context>> make_nameless(
      std::function<bool(x509_store_ctx_st*)> believes);
  [[nodiscard]] virtual std::unique_ptr<wire_stream> stream(wire_socket socket) = 0;

 protected:
  tls_context() = default;
};

[[nodiscard]] std::unique_ptr<wire_stream> plain_stream(wire_socket socket);

/// For a connection to that address; close-on-exec, as asio's own are not. Without a descriptor it is not open, and
/// whatever is done with it fails.
[[nodiscard]] wire_socket new_tcp_socket(const asio::any_io_executor& executor, const asio::ip::tcp::endpoint& to);

}  // namespace troupe
