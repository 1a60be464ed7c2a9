#pragma once

#include <cstddef>

#include "messages/limits.hpp"
#include "runtime/edge/tcp/wire_stream.hpp"

namespace troupe {

/// One recv(), and one sendmsg() of at most limits::tcp_chunk_pieces_max pieces, on a connected socket; they never
/// wait. Errors: as the system's; asio::error::eof at the end of the stream.
[[nodiscard]] transfer receive_some(wire_socket& from, std::span<std::byte> into);
[[nodiscard]] transfer send_some(wire_socket& to, wire_stream::pieces from);

/// How much must have come before a wait for it ends, which spares the reader of a large payload most of its wakes. The
/// end of the stream ends a wait at once, and a receive buffer that is full. Tcp alone: others are woken by each byte.
class wake_level {
 public:
  /// So many missing bytes come in several wakes.
  [[nodiscard]] static constexpr bool takes_several(std::size_t missing) {
    return missing >= 2 * limits::tcp_wake_bytes;
  }
  /// For the next wait. `missing`: bytes that come for sure.
  void raise(wire_socket& of, std::size_t missing);
  /// Ends a wait if anything has come: on a slow network, too, what comes is read now and then.
  void lower(wire_socket& of) { set(of, 1); }

 private:
  void set(wire_socket& of, int bytes);

  int bytes_ = 1;
};

}  // namespace troupe
