#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messages/activation.hpp"
#include "runtime/edge/edge.hpp"

namespace troupe {

/// A branch: one node to which an engine sends.
struct branch_options {
  /// The output that this node gets.
  std::uint32_t port = 0;
  /// true: replica r gets the ids whose index is r modulo the number of replicas. false: the replica with most credit
  /// gets the next id; replicas with equal credit take turns.
  bool fixed_replica = false;
};

/// The outbound edges of an engine: one branch per node to which an output leads, and one edge per replica of that
/// node. Every branch gets a part of every micro-batch.
///
/// send() sends to all branches or to none, unless an edge is lost while it sends. Then some branches have their part
/// and others do not. If the caller sends the same id again, the branches that have no part get it; if it sends another
/// id, the first one is given up and must not be sent on these edges again. Threads: one.
class fan_out {
 public:
  enum class outcome : std::uint8_t {
    sent,        ///< sent on every branch that has an open receiver
    no_credit,   ///< nothing was sent on the remaining branches; a doorbell rings when there is room
    all_closed,  ///< every receiver is closed: a stop has begun
  };
  enum class caller : std::uint8_t { is_busy, has_time };

  // Called before the first send: branch by branch, with the edges of a branch in the order of its replicas.
  std::size_t add_branch(branch_options options);
  void add_edge(std::size_t to, std::unique_ptr<edge_producer> edge);

  /// Sends outputs[port] on every branch; all outputs have one id. Moves from the output if there is one branch only.
  /// After `no_credit` it may be called again with the same outputs or others. `by`: a caller that has time uses
  /// edge_producer::try_send_now().
  [[nodiscard]] outcome send(std::span<activation> outputs, caller by = caller::is_busy);
  /// Whether every branch that has no part of this micro-batch yet has room or is closed. If an edge is lost after
  /// that, send() may still answer `no_credit`.
  [[nodiscard]] bool has_room(std::span<const activation> outputs) const;
  /// Whether some branches have their part of this micro-batch and others do not.
  [[nodiscard]] bool is_half_sent(micro_batch_id id) const noexcept { return half_sent_ == id; }

  void send_flush(call_number call) noexcept;
  void close() noexcept;
  /// Abandons all edges (edge_producer::abandon) and removes them.
  void abandon() noexcept;

  [[nodiscard]] bool empty() const noexcept { return branches_.empty(); }

 private:
  struct edge_state {
    std::unique_ptr<edge_producer> producer;
    bool closed = false;
  };
  struct branch {
    branch_options options;
    std::vector<edge_state> edges;
    std::size_t last = 0;
    /// It has not got its part of the current micro-batch. Branches differ in this only after a receiver was closed or
    /// an edge was lost while send() went over the branches.
    bool pending = true;
  };

  [[nodiscard]] static std::optional<std::size_t> choose(const branch& among, micro_batch_id id);
  [[nodiscard]] static bool all_closed(const branch& among);
  /// `closed`: this replica is closed, and another one is to be chosen.
  [[nodiscard]] send_status send_on(branch& on, activation& output, caller by);

  std::vector<branch> branches_;
  std::optional<micro_batch_id> half_sent_;
};

}  // namespace troupe
