#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <openssl/ssl.h>

#include "runtime/edge/tcp/frame.hpp"
#include "runtime/edge/tcp/tls_credentials.hpp"
#include "runtime/join/openssl_objects.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe::testing {

/// An end of a TLS 1.3 connection that says what a test likes, over a blocking socket. It verifies every certificate.
class tls_peer {
 public:
  /// A client of that port of this machine; without credentials it shows no certificate.
  explicit tls_peer(std::uint16_t port, const std::optional<tls_credentials>& own = std::nullopt);
  /// A server, on a connection that was accepted.
  tls_peer(unique_fd accepted, const tls_credentials& own);

  [[nodiscard]] bool has_shaken_hands() const { return is_open_; }
  /// False if the other side has closed.
  bool say(std::string_view text) const;
  bool say(const frame& head, std::string_view payload = {}) const;
  /// The next frame with its payload; nothing at the end of the stream.
  struct heard {
    frame head;
    std::string payload;
  };
  [[nodiscard]] std::optional<heard> hear() const;
  /// The rest up to the end of the stream.
  [[nodiscard]] std::string drain() const;

 private:
  void shake_hands(const std::optional<tls_credentials>& own, bool as_server);
  [[nodiscard]] std::string read(std::size_t bytes) const;

  unique_fd socket_;
  std::unique_ptr<SSL_CTX, openssl::freed_with<SSL_CTX_free>> context_;
  std::unique_ptr<SSL, openssl::freed_with<SSL_free>> tls_;
  bool is_open_ = false;
};

/// A blocking connection to that port of this machine.
[[nodiscard]] unique_fd connected_to(std::uint16_t port);

}  // namespace troupe::testing
