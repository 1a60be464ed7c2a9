#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messages/activation.hpp"
#include "runtime/edge/edge.hpp"

namespace troupe {

/// One of the nodes that an engine sends to.
struct branch_options {
  /// Which of the outputs it gets.
  std::uint32_t port = 0;
  /// Replica r gets the ids whose index is r modulo the number of replicas; otherwise the one with most credit, ties
  /// in turn.
  bool fixed_replica = false;
};

/// The outbound edges of an engine: to every node that one of its outputs leads to (a branch) an edge per replica.
/// Every branch gets a part of every micro-batch, and nothing is sent before there is room on all of them: a
/// micro-batch never waits half sent, unless an edge is lost in between: then for new edges, or another replica.
/// What is half sent goes on where it stopped, and is given up by sending another one; over the same edges nobody may
/// send it again then. Threads: one.
class fan_out {
 public:
  enum class outcome : std::uint8_t {
    sent,        ///< on every branch that still has a receiver
    no_credit,   ///< nothing was sent on the branches that are left; a doorbell rings when there is room again
    all_closed,  ///< every receiver is gone: a stop is on its way
  };

  /// Before the first send. Branch by branch, the edges of a branch in the order of its replicas.
  std::size_t add_branch(branch_options options);
  void add_edge(std::size_t to, std::unique_ptr<edge_producer> edge);

  /// Sends outputs[port] on every branch, moving from it where it has one branch alone. All outputs have the same id.
  /// After `no_credit` it is called again with the same outputs, or with others.
  [[nodiscard]] outcome send(std::span<activation> outputs);
  /// Whether each branch that has not got its part yet has room for it, or no receiver any more. An edge that is lost
  /// in between can make send() say `no_credit` nevertheless.
  [[nodiscard]] bool has_room(std::span<const activation> outputs) const;
  /// Whether some branch has got its part of this one and another has not.
  [[nodiscard]] bool is_half_sent(micro_batch_id id) const noexcept { return half_sent_ == id; }

  void send_end_of_call(call_number call) noexcept;
  void close() noexcept;
  /// Ends all edges without a word (edge_producer::vanish) and forgets them.
  void vanish() noexcept;

  [[nodiscard]] bool empty() const noexcept { return branches_.empty(); }
  /// The replica that got the last micro-batch of the branch.
  [[nodiscard]] std::size_t last_replica(std::size_t of) const noexcept { return branches_[of].last; }

 private:
  struct edge_state {
    std::unique_ptr<edge_producer> producer;
    bool closed = false;
  };
  struct branch {
    branch_options options;
    std::vector<edge_state> edges;
    std::size_t last = 0;
    /// Waits for its part of the micro-batch at hand. Only a receiver that closed, or an edge that was lost, in the
    /// middle makes a difference between branches.
    bool pending = true;
  };

  [[nodiscard]] static std::optional<std::size_t> choose(const branch& among, micro_batch_id id);
  [[nodiscard]] static bool all_closed(const branch& among);
  /// `closed`: the branch must choose again.
  [[nodiscard]] send_status send_on(branch& on, activation& output);

  std::vector<branch> branches_;
  std::optional<micro_batch_id> half_sent_;
};

}  // namespace troupe
