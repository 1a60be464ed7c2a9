#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/edge/edge.hpp"

namespace troupe {

struct simulated_channel;

/// What travels on a simulated edge. The first three go down, the last two up.
enum class simulated_message : std::uint8_t { activation, flush, producer_closed, credit, consumer_closed };

/// What becomes of a message on its way.
enum class delivery_action : std::uint8_t {
  deliver,
  drop,       ///< lost: the slot of a lost activation and a lost credit never come back
  duplicate,  ///< arrives twice; the copy of an activation takes no slot and gives no credit
  swap,       ///< the next message of its direction goes first (delivered as it is if there is none, or one end closed)
};

/// The seam for faults: asked once for each activation, flush and credit when it is delivered. Closing is never
/// touched: it stands for what the control plane tells both ends. Must be deterministic for a run to be replayed.
class delivery_policy {
 public:
  delivery_policy() = default;
  delivery_policy(const delivery_policy&) = delete;
  delivery_policy& operator=(const delivery_policy&) = delete;
  virtual ~delivery_policy() = default;
  /// `edge` counts the edges of the network from 0 in the order they were made.
  virtual delivery_action on_deliver(std::size_t edge, simulated_message what) = 0;
};

struct simulated_network_options {
  /// Off, producers believe that they always have credit: a mutation that the checks of a simulation must find
  /// (overrun()).
  bool enforce_credits = true;
  /// Not owned; none delivers everything. Outlives the network.
  delivery_policy* on_deliver = nullptr;
};

/// Edges for deterministic simulation in one thread: each send, flush, release or close waits until deliver() lets it
/// arrive, and only then rings a doorbell. No clock and no randomness of its own: the caller chooses what arrives next,
/// and the same choices give the same run. Each direction of an edge keeps its order; between directions and edges
/// there is none.
///
/// Ends may outlive the network; messages under way then never arrive. What arrives at an end that closed is dropped.
class simulated_network final : public edge_factory {
 public:
  explicit simulated_network(const simulated_network_options& options = {}) : options_(options) {}

  [[nodiscard]] edge_ends make(const edge_options& options) override;

  /// How many messages can arrive next: one for each direction of each edge that has any under way.
  [[nodiscard]] std::size_t pending() const noexcept;

  /// Lets the k-th of them arrive (edges in the order they were made, down before up). k < pending().
  void deliver(std::size_t k);

  /// An edge delivered more activations than its consumer had free slots for: a producer sent without credit.
  [[nodiscard]] bool overrun() const noexcept { return overrun_; }

 private:
  struct numbered_channel {
    std::size_t edge = 0;
    std::weak_ptr<simulated_channel> channel;
  };

  simulated_network_options options_;
  /// Those whose ends have died go when the next edge is made.
  std::vector<numbered_channel> channels_;
  std::size_t made_ = 0;
  bool overrun_ = false;
};

}  // namespace troupe
