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

/// The exchange of a step's sums of gradients: with the replicas of the same stage, those of all parameters; with the
/// replicas of stages that share parameters, those of these. Each sends its sums to each other one, and takes theirs,
/// in any order: no one waits with sending for what it takes. A message has the id {call, 0}; a replica without sums
/// sends an empty part. Threads: one.
class peer_exchange {
 public:
  /// `own`: whose exchange it is, of `replicas`.
  peer_exchange(stage_address own, std::uint32_t replicas);

  /// Abandons the edges of the epoch before.
  void rewire(std::vector<engine_wiring::peer> peers);
  [[nodiscard]] bool has_ties() const noexcept { return !tied_.empty(); }

  /// `tied`: for the peers of other stages.
  void begin(call_number call, payload_ptr own_sum, payload_ptr tied);
  /// Sends and takes what can be sent and taken now. True if anything was. An edge to another process throws where it
  /// finds no memory or cannot carry the sum.
  [[nodiscard]] bool move();
  [[nodiscard]] bool is_complete() const noexcept { return missing_ == 0; }
  // When the exchange is complete. Their memory is valid until end().
  /// By replica, its sum. Nothing where the stage has one replica.
  [[nodiscard]] std::span<const payload_ptr> sums() const noexcept { return sums_; }
  /// By peer of another stage, in the order of stages and then of replicas.
  [[nodiscard]] std::span<const payload_ptr> tied() const noexcept { return tied_; }
  /// Lets go of all sums, at any time.
  void end() noexcept;

  void close() noexcept;

 private:
  struct peer {
    engine_wiring::peer edges;
    /// In `sums_`, or in `tied_`.
    std::size_t position = 0;
    bool is_tied = false;
    bool is_sent = false;
    bool is_here = false;
    /// A replica that has heard of a cancellation earlier may send the sum of the next call already.
    std::optional<activation> head = std::nullopt;
  };
  [[nodiscard]] bool send(peer& to);
  [[nodiscard]] bool take(peer& from);

  stage_address own_;
  std::vector<payload_ptr> sums_;
  std::vector<payload_ptr> tied_;
  payload_ptr own_tied_;
  std::vector<peer> peers_;
  call_number call_ = 0;
  /// Sums to be sent and sums to be taken.
  std::size_t missing_ = 0;
  row_set_ptr no_rows_ = std::make_shared<const row_set>();
};

}  // namespace troupe
