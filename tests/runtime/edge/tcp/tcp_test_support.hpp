// Support of the tests of the tcp edge: a codec of one number, certificates made in memory, endpoints with short times.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sched.h>

#include "runtime/edge/tcp/frame.hpp"
#include "runtime/edge/tcp/tcp_endpoint.hpp"

namespace troupe::testing {

using namespace std::chrono_literals;

/// A number and as many bytes behind it as asked for.
class number_payload final : public payload {
 public:
  explicit number_payload(std::uint64_t number, std::size_t padding = 0) : value(number), size(8 + padding) {}
  const std::uint64_t value;
  const std::size_t size;
};

/// What arrives: views the bytes it was read from.
class viewed_payload final : public payload {
 public:
  viewed_payload(std::span<const std::byte> from, std::shared_ptr<const void> owner) : bytes(from), owner_(owner) {}
  [[nodiscard]] std::uint64_t value() const;
  const std::span<const std::byte> bytes;

 private:
  const std::shared_ptr<const void> owner_;
};

/// For number_payload, and for counted_payload by its value. Every byte after the number is its position's.
class number_codec final : public payload_codec {
 public:
  [[nodiscard]] std::size_t size_of(const payload& value) const override;
  void write(const payload& value, std::span<std::byte> into) const override;
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte> from,
                                           std::shared_ptr<const void> owner) const override;
};

/// An authority of its own and certificates that it signs: EC P-256.
class test_authority {
 public:
  test_authority();
  ~test_authority();
  test_authority(const test_authority&) = delete;
  test_authority& operator=(const test_authority&) = delete;
  [[nodiscard]] tls_credentials issue(const std::string& common_name = "test worker") const;

 private:
  struct keys;
  std::unique_ptr<keys> keys_;
};

/// The common name of such a certificate, for tcp_endpoint_options::node_of.
expected<std::string> common_name_of(x509_st* certificate);

/// One authority per program, as they take time.
const tls_credentials& run_credentials();

inline constexpr edge_secret test_token{0x0123456789abcdef, 0xfedcba9876543210};
inline edge_key key_of(std::uint32_t edge, epoch_number epoch = 1) {
  return {test_token, edge, epoch, 0};
}

/// Errors told on the I/O thread, for a test to wait for.
class error_box {
 public:
  std::function<void(const error&)> put();
  /// Nothing came within 20 s: empty.
  std::optional<error> take();
  std::size_t count() const;

 private:
  mutable std::mutex guard_;
  std::condition_variable filled_;
  std::vector<error> errors_;
  std::size_t taken_ = 0;
};

/// Patient enough for sanitizers unless a test asks for less.
tcp_endpoint_options test_options(bool with_tls = false);

std::unique_ptr<tcp_endpoint> must_open(tcp_endpoint_options options);

/// Waits without sleeping until `is_true`, at most 20 s.
template <class Condition>
bool eventually(Condition is_true) {
  const auto limit = std::chrono::steady_clock::now() + 20s;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    sched_yield();
  }
  return true;
}

/// A client that speaks for itself: a blocking socket to a port of this machine.
class raw_client {
 public:
  /// `from`: an address of this machine (127.0.0.2 is one, too); null: any.
  explicit raw_client(std::uint16_t port, const char* from = nullptr);
  explicit raw_client(int connected) : fd_(connected) {}
  ~raw_client();
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;
  /// False if the other side has closed.
  bool send(std::span<const std::byte> bytes) const;
  bool send(const std::string& text) const;
  /// 0 at the end of the stream.
  std::size_t receive(std::span<std::byte> into) const;
  /// The next frame, without a payload.
  [[nodiscard]] frame hear() const;
  /// Everything up to the end of the stream.
  std::string drain() const;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

/// Of this machine, for a relay between two ends.
class listening_socket {
 public:
  listening_socket();
  ~listening_socket();
  listening_socket(const listening_socket&) = delete;
  listening_socket& operator=(const listening_socket&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int accept() const;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

}  // namespace troupe::testing
