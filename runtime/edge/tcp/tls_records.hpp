#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/edge/tcp/socket_io.hpp"

struct bio_st;
struct ssl_st;

namespace troupe {

/// Between OpenSSL and a socket: encrypted records that have come and are not read, and those that are made and not
/// sent, so that one system call moves many. OpenSSL takes and leaves single records here, without one. Both buffers
/// begin small, as most connections carry control alone, and hold at most about limits::tls_chunk_bytes. Threads: one.
class tls_records {
 public:
  tls_records() = default;
  tls_records(const tls_records&) = delete;
  tls_records& operator=(const tls_records&) = delete;

  /// `ssl` reads and writes here from now on, and is gone before this.
  void serve(ssl_st& ssl);

  /// One call of the socket's. No bytes and no error: nothing is there now.
  [[nodiscard]] transfer fill(wire_socket& from);
  /// One call of the socket's, unless nothing is left. `bytes`: those left.
  [[nodiscard]] transfer drain(wire_socket& to);

  // --- for OpenSSL ---
  [[nodiscard]] std::size_t take(std::span<std::byte> into) noexcept;
  void put(std::span<const std::byte> record);

 private:
  std::vector<std::byte> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  std::vector<std::byte> out_;
  std::size_t out_begin_ = 0;
};

}  // namespace troupe
