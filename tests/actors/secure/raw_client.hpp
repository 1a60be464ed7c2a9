#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <openssl/ssl.h>

#include <troupe/runtime/os/unique_fd.hpp>
#include <troupe/runtime/process/job_credentials.hpp>

namespace troupe::testing {

/// A TCP connection to 127.0.0.1:port that says what a test wants.
class raw_connection {
 public:
  raw_connection();
  explicit raw_connection(std::uint16_t port) : raw_connection() { connect(port); }
  void connect(std::uint16_t port);

  void say(const std::string& bytes);
  /// All that comes until the other end closes, or until `at_most` has passed.
  std::string hear_all(std::chrono::milliseconds at_most);
  /// True if the other end has closed by then.
  bool is_closed_within(std::chrono::milliseconds at_most);
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  unique_fd socket_;
};

struct visitor {
  std::string ca;       ///< empty: trusts everybody
  pem_identity member;  ///< empty: shows nothing
  int tls_version = TLS1_3_VERSION;
};

/// A TLS client of its own making, which reports what it gets.
class tls_visitor {
 public:
  tls_visitor(std::uint16_t port, const visitor& who);
  /// True if the door welcomed it: all that comes after the handshake, within some seconds.
  bool is_welcome();
  void say(const std::string& bytes);
  bool is_closed_within(std::chrono::milliseconds at_most);

 private:
  struct freed {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* session) const { SSL_free(session); }
  };
  raw_connection connection_;
  std::unique_ptr<SSL_CTX, freed> context_;
  std::unique_ptr<SSL, freed> session_;
};

/// 32 bytes in CAF's form.
std::string basp_header(std::uint8_t operation, std::uint32_t payload_size, std::uint64_t data, std::uint64_t source,
                        std::uint64_t destination);
/// A handshake without a payload, which CAF dereferences.
std::string crashing_header();
/// Almost 4 GiB announced.
std::string greedy_header();

/// Nobody's: it vouches for itself.
pem_identity self_signed();

}  // namespace troupe::testing
