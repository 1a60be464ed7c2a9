#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messages/activation.hpp"
#include "runtime/edge/edge.hpp"

namespace troupe {

/// A branch: one node that an engine sends to.
struct branch_options {
  /// The output that it gets.
  std::uint32_t port = 0;
  /// true: replica r gets the ids whose index is r modulo the number of replicas. false: the replica with most credit
  /// gets the next id; ties take turns.
  bool fixed_replica = false;
};

/// The outbound edges of an engine: one branch per node that an output leads to, one edge per replica of that node.
/// Every branch gets a part of every micro-batch. send() is all-or-nothing over the branches, unless an edge is lost
/// midway. After that, calling it again with the same id sends to the branches still missing; calling it with another
/// id abandons the first id, which must not be sent on these edges again. Threads: one.
class fan_out {
 public:
  enum class outcome : std::uint8_t {
    sent,        ///< sent on every branch that has an open receiver
    no_credit,   ///< nothing was sent on the remaining branches; a doorbell rings when there is room
    all_closed,  ///< every receiver is closed: a stop has begun
  };
  enum class caller : std::uint8_t { is_busy, has_time };

  /// Call these before the first send: branch by branch, with the edges of a branch in the order of its replicas.
  std::size_t add_branch(branch_options options);
  void add_edge(std::size_t to, std::unique_ptr<edge_producer> edge);

  /// Sends outputs[port] on every branch, and moves from an output with a single branch. All outputs have one id. After
  /// `no_credit` call it again with the same or other outputs. `by`: edge_producer::try_send_now().
  [[nodiscard]] outcome send(std::span<activation> outputs, caller by = caller::is_busy);
  /// Whether each branch still missing has room or a closed receiver. send() may still answer `no_credit` if an edge is
  /// lost in between.
  [[nodiscard]] bool has_room(std::span<const activation> outputs) const;
  /// Whether some branches have this micro-batch and others do not.
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
    /// Still needs its part of the current micro-batch. Branches differ only after a receiver closed or an edge was
    /// lost midway.
    bool pending = true;
  };

  [[nodiscard]] static std::optional<std::size_t> choose(const branch& among, micro_batch_id id);
  [[nodiscard]] static bool all_closed(const branch& among);
  /// `closed`: the branch must choose again.
  [[nodiscard]] send_status send_on(branch& on, activation& output, caller by);

  std::vector<branch> branches_;
  std::optional<micro_batch_id> half_sent_;
};

}  // namespace troupe
