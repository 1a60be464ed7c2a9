#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messages/activation.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/flow/engine_wiring.hpp"

namespace troupe {

/// The exchange of a step's sums of gradients between the replicas of a stage: each sends its sum to each other one,
/// and takes theirs, in any order. A message has the id {call, 0}; a replica without a sum sends an empty part.
/// Threads: one.
class peer_exchange {
 public:
  /// `own`: the replica whose exchange it is, of `replicas`.
  peer_exchange(replica_index own, std::uint32_t replicas);

  /// Abandons the edges of the epoch before.
  void rewire(std::vector<engine_wiring::peer> peers);

  void begin(call_number call, payload_ptr own_sum);
  /// Sends and takes what can be sent and taken now. True if anything was. An edge to another process throws where it
  /// finds no memory or cannot carry the sum.
  [[nodiscard]] bool move();
  [[nodiscard]] bool is_complete() const noexcept { return missing_ == 0; }
  /// When the exchange is complete: by replica, its sum. Their memory is valid until end(). Nothing where the stage has
  /// one replica.
  [[nodiscard]] std::span<const payload_ptr> sums() const noexcept { return sums_; }
  /// Lets go of all sums, at any time.
  void end() noexcept;

  void close() noexcept;

 private:
  struct peer {
    engine_wiring::peer edges;
    bool is_sent = false;
    bool is_here = false;
    /// A replica that has heard of a cancellation earlier may send the sum of the next call already.
    std::optional<activation> head;
  };
  [[nodiscard]] bool send(peer& to);
  [[nodiscard]] bool take(peer& from);

  replica_index own_;
  std::vector<payload_ptr> sums_;
  std::vector<peer> peers_;
  call_number call_ = 0;
  /// Sums to be sent and sums to be taken.
  std::size_t missing_ = 0;
  row_set_ptr no_rows_ = std::make_shared<const row_set>();
};

}  // namespace troupe
