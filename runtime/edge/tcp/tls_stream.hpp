#pragma once

#include <memory>
#include <vector>

#include "runtime/edge/tcp/erasing_allocator.hpp"
#include "runtime/edge/tcp/tls_records.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace troupe {

/// TLS over a socket. Records are full where there is that much to send: small pieces are put together, large ones
/// encrypted from where they lie, limits::tls_chunk_bytes sent with one system call.
class tls_stream final : public wire_stream {
 public:
  /// `context` may go before the stream.
  tls_stream(wire_socket socket, ssl_ctx_st& context);

  void handshake(bool as_server, on_done done) override;
  [[nodiscard]] transfer read_some(std::span<std::byte> into) override;
  [[nodiscard]] transfer write_some(pieces from) override;
  [[nodiscard]] transfer flush() override { return records_.drain(socket_); }
  wire_socket& socket() noexcept override { return socket_; }
  [[nodiscard]] x509_st* peer_certificate() noexcept override;
  void say_rejected() override;

 private:
  struct free_ssl {
    void operator()(ssl_st* ssl) const;
  };
  void shake_hands(on_done done);
  void send_and_go_on(on_done done);
  [[nodiscard]] transfer read_record(std::span<std::byte> into);
  [[nodiscard]] std::error_code add(std::span<const std::byte> bytes);
  [[nodiscard]] std::error_code end_record();
  [[nodiscard]] std::error_code encrypt(std::span<const std::byte> record);
  [[nodiscard]] std::error_code failure(int returned) const;

  wire_socket socket_;
  tls_records records_;
  std::unique_ptr<ssl_st, free_ssl> ssl_;
  /// What there is of a record of several pieces. The secret of a join goes through here, and no byte stays.
  std::vector<std::byte, erasing_allocator<std::byte>> joined_;
};

}  // namespace troupe
