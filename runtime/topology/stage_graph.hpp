#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/limits.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What a node does with micro-batches.
enum class node_kind : std::uint8_t {
  source,  ///< makes them: the loader of a data set
  stage,   ///< turns the tensors of one into others; with several inputs it waits for all parts of one id
  join,    ///< puts the parts of one id, from two inputs or more, together again in sample order
  route,   ///< splits the samples of one over its outputs; every output gets a part of every id, maybe an empty one
  sink,    ///< scores the outputs of its predecessor, inside that node's engine; nothing travels to it over an edge
};

std::string_view node_kind_name(node_kind kind);

/// One node: a name for people and errors, and its properties for the wiring. The director gets its computation by
/// name, not here.
struct graph_node {
  std::string name;
  node_kind kind = node_kind::stage;
  std::uint32_t replicas = 1;
  /// Credits of every edge into the node. Nothing: by the size of what passes between such nodes
  /// (runtime/wiring/edge_depths.hpp), at least limits::pipe_buffers_default.
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  /// Nodes of one group are copied together: replica r is wired to replica r. Empty: the node stands alone, and every
  /// replica is wired to every replica of its neighbours.
  std::string pipeline_group;
  /// Port names. A source has no input, a sink no output, a route one input, a join at least two; every port must be
  /// connected, an output perhaps to several inputs: each of them gets every micro-batch.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  /// Takes micro-batches in id order, although several replicas feed it. A node with several inputs always does.
  bool ordered = false;
  /// Routes only: its last case takes every sample that no other case took.
  bool covers_all_samples = false;

  /// Takes micro-batches in id order.
  [[nodiscard]] bool keeps_order() const noexcept { return ordered || inputs.size() > 1; }
};

/// "port `port` of node `node`".
struct port_name {
  std::string node;
  std::string port;
  friend bool operator==(const port_name&, const port_name&) = default;
};

struct graph_edge {
  port_name from;
  port_name to;
  friend bool operator==(const graph_edge&, const graph_edge&) = default;
};

/// The topology as its author states it: nodes and edges in the order they were added, unchecked. validate() says
/// whether it makes sense, expand() what it means.
class stage_graph {
 public:
  static constexpr const char* default_input = "in";
  static constexpr const char* default_output = "out";

  /// Ports left empty become "in" and "out", as the kind needs them.
  stage_graph& add(graph_node node);
  /// From output "out" to input "in".
  stage_graph& connect(const std::string& from, const std::string& to);
  stage_graph& connect_ports(port_name from, port_name to);

  [[nodiscard]] const std::vector<graph_node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const std::vector<graph_edge>& edges() const noexcept { return edges_; }
  /// Index into nodes() of the first node of this name; nodes().size() if there is none.
  [[nodiscard]] std::size_t find(const std::string& name) const noexcept;

 private:
  std::vector<graph_node> nodes_;
  std::vector<graph_edge> edges_;
};

/// The one topology of plain evaluation: source -> stage 0 -> ... -> stage S-1 -> sinks, the stages copied R times.
struct chain_options {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  /// As graph_node has it.
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  std::string source = "loader";
  /// Stage i is called "<stage_prefix> i"; it is also the name of the pipeline group.
  std::string stage_prefix = "stage";
  std::vector<std::string> sinks = {"metrics"};
};
stage_graph make_chain(const chain_options& options);

/// Everything that can be wrong with a graph, found before anything starts; the error names the nodes.
/// E0501 a cycle, with its path. E0502 a port that is not connected, or an edge to a port that does not exist. E0503
/// two nodes, or two ports of a node, of one name. E0505 a node that keeps order behind one that does not (see
/// emits_in_order). E0506 a route that does not cover all samples. E0504 the rest: not exactly one source, no stage or
/// sink, an edge to an unknown node, the same edge twice, two edges into one input, counts that are zero or too large
/// (messages/limits.hpp), unequal replicas in a pipeline group, a source or sink with replicas, ports that the kind
/// must not have, a sink right behind a source.
expected<void> validate(const stage_graph& graph);

/// Whether every edge out of the node carries ids in ascending order: so does a source, a node that keeps order, and a
/// node each of whose replicas is fed by one replica of such a node. What waits for ids in order may only be fed by
/// these: then the least id that is not done stands at the head of every edge it is on, and nothing can block it. The
/// graph has no cycle.
bool emits_in_order(const stage_graph& graph, std::size_t node);

/// What may be slow though it is right, a sentence each that names the nodes: a join whose short branch has fewer slots
/// than its long one has stages, so that the fork before them waits while stages are idle. The graph is valid.
std::vector<std::string> find_shortages(const stage_graph& graph);

/// Indices into nodes(), every node behind all it receives from, otherwise in the order they were added. E0501 with a
/// cycle. Edges to unknown nodes count as none.
expected<std::vector<std::size_t>> topological_order(const stage_graph& graph);

}  // namespace troupe
