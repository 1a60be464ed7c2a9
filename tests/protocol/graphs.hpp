#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

/// A node of a graph to explore. Node 0 is the source; every other node takes from nodes of smaller numbers. What kind
/// it is follows from its inputs: none is the source, one a stage, two or more a join.
struct flow_node {
  /// The producer behind each input port. The same producer twice: two ports of a route that meet again at once.
  std::vector<std::uint8_t> inputs;
  bool ordered = false;
  std::uint8_t replicas = 1;
  /// Scores for a sink of its own, inside the node's engine: nothing travels to a sink over an edge.
  bool has_sink = false;
  /// Copied together with its producer (a pipeline group): replica r takes from replica r alone.
  bool is_lane = false;

  [[nodiscard]] bool keeps_order() const noexcept { return ordered || inputs.size() > 1; }
};

struct flow_graph {
  std::string name;
  std::vector<flow_node> nodes;

  /// Sinks count as nodes, as they do in a stage graph.
  [[nodiscard]] std::size_t node_count() const noexcept;
};

/// "[diamond] 1x2<-0 2!<-1 3<-1,2 +sink": x2 is copied, ! ordered, = copied together with its producer.
std::string to_string(const flow_graph& graph);

/// Whether every edge out of the node carries ascending ids: a source, a node that keeps order, and a stage each of
/// whose replicas is fed by one replica of such a node.
bool emits_in_order(const flow_graph& graph, std::size_t node);

/// The static rule: who waits for ids in order is fed in order. Other graphs are rejected before anything starts.
bool is_accepted(const flow_graph& graph);

/// Every graph of exactly `nodes` nodes (source and sinks included), up to renaming: each node reachable from the
/// source, each leads to a sink, stages plain or ordered, each stage and join alone or in two replicas. An ordered
/// stage that cannot be told from a plain one (one replica behind one replica) is left out. At most `copied_max` nodes
/// are in two replicas.
std::vector<flow_graph> all_graphs(std::size_t nodes, std::size_t copied_max = SIZE_MAX);

/// Larger ones, up to eight nodes, that a real topology would have. All are accepted.
std::vector<flow_graph> hand_made_graphs();

/// The graph with every choice of nodes in two replicas: as it is, and with every stage behind such a node ordered.
/// Only those that are accepted; none of a graph with lanes.
std::vector<flow_graph> copies_of(const flow_graph& graph);

}  // namespace troupe::testing
