#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/messages/error.hpp>
#include <troupe/messages/limits.hpp>

namespace troupe {

/// What a node does with micro-batches. Joins and routes will stand beside these.
enum class node_kind : std::uint8_t {
  source,  ///< makes them: the loader of a data set
  stage,   ///< turns the tensors of one into others
  sink,    ///< scores the outputs of its predecessor, inside that stage's engine; nothing travels to it over an edge
};

std::string_view node_kind_name(node_kind kind);

/// Where one replica of a node runs.
struct placement {
  /// Empty: the host of the driver.
  std::string host;
  /// Process on that host; 0 is the driver's own.
  std::uint32_t process = 0;
  friend bool operator==(const placement&, const placement&) = default;
};

/// One node: a name for people and errors, and what the wiring must know of it. What it computes is told to the
/// director by name, not here.
struct graph_node {
  std::string name;
  node_kind kind = node_kind::stage;
  std::uint32_t replicas = 1;
  /// Credits of every edge into the node.
  std::uint32_t num_pipe_buffers = limits::pipe_buffers_default;
  /// Nodes of one group are copied together: replica r is wired to replica r. Empty: the node stands alone, and every
  /// replica is wired to every replica of its neighbours.
  std::string pipeline_group;
  /// One per replica; empty: all in the driver's process.
  std::vector<placement> placements;
  /// Port names. A source has no input, a sink no output, a stage one input; every port must be connected.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
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
  std::uint32_t num_pipe_buffers = limits::pipe_buffers_default;
  std::string source = "loader";
  /// Stage i is called "<stage_prefix> i"; it is also the name of the pipeline group.
  std::string stage_prefix = "stage";
  std::vector<std::string> sinks = {"metrics"};
};
stage_graph make_chain(const chain_options& options);

/// Everything that can be wrong with a graph, found before anything starts; the error names the nodes.
/// E0501 a cycle, with its path. E0502 a port that is not connected, or an edge to a port that does not exist. E0503
/// two nodes, or two ports of a node, of one name. E0504 the rest: no source or sink, an edge to an unknown node, the
/// same edge twice, two edges into one input, counts that are zero or too large (messages/limits.hpp), unequal replicas
/// in a pipeline group, a source or sink with replicas, ports that the kind must not have, a sink right behind a
/// source.
expected<void> validate(const stage_graph& graph);

/// Also what plain evaluation can run today: E0504 naming the first node where a valid graph is no chain from one
/// source through one pipeline group to its sinks.
expected<void> require_chain(const stage_graph& graph);

/// Indices into nodes(), every node behind all it receives from, otherwise in the order they were added. E0501 with a
/// cycle. Edges to unknown nodes count as none.
expected<std::vector<std::size_t>> topological_order(const stage_graph& graph);

}  // namespace troupe
