#pragma once

#include <cstdint>
#include <vector>

#include "tests/protocol/graphs.hpp"

namespace troupe::testing {

/// What a graph means: replicas as instances, and one edge per pair of them that talk. Instance 0 is the source;
/// producers have smaller numbers than consumers.

/// One successor of a node, as one replica sees it.
struct flow_branch {
  /// By replica of the successor; a lane has one.
  std::vector<std::uint8_t> edges;
  /// Replica `id % replicas` gets the id; otherwise any that has room (pull).
  bool is_fixed = false;

  [[nodiscard]] bool has_choice() const noexcept { return !is_fixed && edges.size() > 1; }
};

struct flow_instance {
  std::uint8_t node = 0;
  std::uint8_t replica = 0;
  std::uint8_t replicas = 1;
  bool keeps_order = false;
  /// Inbound edges by port, one per replica of the port's producer.
  std::vector<std::vector<std::uint8_t>> ports;
  std::vector<flow_branch> branches;
  /// Negative: none.
  int sink = -1;

  [[nodiscard]] bool is_source() const noexcept { return ports.empty(); }
  /// Takes from whichever of several edges has something, and so must remember which.
  [[nodiscard]] bool takes_any() const noexcept { return !keeps_order && !is_source() && ports.front().size() > 1; }
  /// The first id of its own sequence that is not below `mark`.
  [[nodiscard]] std::uint8_t first_id(std::uint8_t mark) const noexcept;
};

struct flow_edge {
  std::uint8_t from = 0;
  std::uint8_t to = 0;
};

struct flow_network {
  std::vector<flow_instance> instances;
  std::vector<flow_edge> edges;
  std::uint8_t sinks = 0;
};

flow_network expand(const flow_graph& graph);

}  // namespace troupe::testing
