#include "runtime/topology/stage_graph.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "messages/check.hpp"

namespace troupe {

std::string_view node_kind_name(node_kind kind) {
  constexpr std::array<std::string_view, 5> names{"source", "stage", "join", "route", "sink"};
  const auto index = static_cast<std::size_t>(kind);
  TROUPE_CHECK(index < names.size(), "a node is one of the five kinds");
  return names[index];
}

stage_graph& stage_graph::add(graph_node node) {
  if (node.inputs.empty() && node.kind != node_kind::source) {
    node.inputs = {default_input};
  }
  if (node.outputs.empty() && node.kind != node_kind::sink) {
    node.outputs = {default_output};
  }
  nodes_.push_back(std::move(node));
  return *this;
}

stage_graph& stage_graph::connect_ports(port_name from, port_name to) {
  edges_.push_back({std::move(from), std::move(to)});
  return *this;
}

stage_graph& stage_graph::connect(const std::string& from, const std::string& to) {
  return connect_ports({from, default_output}, {to, default_input});
}

std::size_t stage_graph::find(const std::string& name) const noexcept {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const graph_node& n) { return n.name == name; });
  return static_cast<std::size_t>(found - nodes_.begin());
}

stage_graph make_chain(const chain_options& options) {
  stage_graph graph;
  graph_node source;
  source.name = options.source;
  source.kind = node_kind::source;
  graph.add(std::move(source));
  std::string previous = options.source;
  for (std::uint32_t s = 0; s < options.stages; ++s) {
    graph_node stage;
    stage.name = fmt::format("{} {}", options.stage_prefix, s);
    stage.replicas = options.replicas;
    stage.num_pipe_buffers = options.num_pipe_buffers;
    stage.pipeline_group = options.stage_prefix;
    graph.connect(previous, stage.name);
    previous = stage.name;
    graph.add(std::move(stage));
  }
  for (const std::string& name : options.sinks) {
    graph_node sink;
    sink.name = name;
    sink.kind = node_kind::sink;
    graph.add(std::move(sink));
    graph.connect(previous, name);
  }
  return graph;
}

}  // namespace troupe
