#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/join/join_exchange.hpp"
#include "runtime/join/join_ticket.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What came of one connection.
struct join_attempt {
  /// Why there is no answer. E0708: not reached; E0707: another program listens there, or the driver refused.
  expected<join_answer> answer;
  /// It was the driver, which had read the request and refused (connection_role::rejected).
  bool is_refusal = false;
  /// The clock of this node and the driver's differ so much that no attempt will do better.
  bool is_wrong_time = false;
  /// Numeric, of this end.
  std::string own_address = {};
};

/// One attempt to join at a numeric address, for at most that time: TLS with a server whose chain ends at the ticket's
/// authority and is valid at `now` (seconds since 1970), and that has the driver's name; `request` (to_bytes()), the
/// answer. Blocks the thread.
[[nodiscard]] join_attempt try_to_join(const std::string& address, const join_ticket& ticket,
                                       const secret_text& request, std::chrono::milliseconds at_most, std::int64_t now);

}  // namespace troupe
