#pragma once

#include <cstddef>

#include "messages/limits.hpp"
#include "runtime/edge/tcp/wire_stream.hpp"

namespace troupe {

/// One recv(), and one sendmsg() of at most limits::tcp_chunk_pieces_max pieces, on a connected socket; they never
/// wait. Errors: as the system's; asio::error::eof at the end of the stream.
[[nodiscard]] transfer receive_some(wire_socket& from, std::span<std::byte> into);
[[nodiscard]] transfer send_some(wire_socket& to, wire_stream::pieces from);

/// How many bytes must have arrived before a wait to read from a socket ends (SO_RCVLOWAT). A reader of a large payload
/// is so woken a few times instead of for each packet. The end of the stream and a full receive buffer end the wait at
/// once. It has no effect on unix sockets, where each byte ends the wait.
class wake_level {
 public:
  /// Whether the reader of a payload that lacks `missing` bytes is to be woken more than once.
  [[nodiscard]] static constexpr bool takes_several(std::size_t missing) {
    return missing >= 2 * limits::tcp_wake_bytes;
  }
  /// For the next wait, where the sender has announced `missing` more bytes.
  void raise(wire_socket& of, std::size_t missing);
  /// Lets any byte end the wait, also one that has arrived already: on a slow network what has come is still read now
  /// and then.
  void lower(wire_socket& of) { set(of, 1); }

 private:
  void set(wire_socket& of, int bytes);

  int bytes_ = 1;
};

}  // namespace troupe
