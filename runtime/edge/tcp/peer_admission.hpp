#pragma once

#include <cstddef>
#include <span>

#include "runtime/edge/tcp/frame.hpp"
#include <troupe/error.hpp>

namespace troupe {

class connection;

/// Takes over connections to a tcp_endpoint that are for no edge: links (runtime/link), nodes that join (runtime/join).
class peer_admission {
 public:
  peer_admission() = default;
  peer_admission(const peer_admission&) = delete;
  peer_admission& operator=(const peer_admission&) = delete;
  virtual ~peer_admission() = default;

  /// The first frame of a peer, of this kind, and its payload. Gives the connection another role
  /// (connection::assume(), connection::pass_to()), or refuses the peer: it sees its connection close, and the error is
  /// for the log. I/O thread; must not wait.
  virtual expected<void> admit(connection& from, const frame& first, std::span<const std::byte> payload) = 0;

  /// The endpoint has stopped: its thread has ended, its connections are closed, and no part of the endpoint may be
  /// used any more. Once.
  virtual void stopped() noexcept = 0;
};

}  // namespace troupe
