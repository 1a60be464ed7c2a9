#include "program/topology_parts.hpp"

#include <algorithm>
#include <utility>

#include "runtime/topology/stage_graph.hpp"

namespace troupe {

std::string part_name(const std::string& pipeline, std::uint32_t part) {
  return pipeline + " " + std::to_string(part);
}

void topology_parts::add(graph_node node) {
  if (node.name.find('.') != std::string::npos) {
    mistakes.push_back({error_code::topology_invalid, "node '" + node.name + "'", "a name with a dot",
                        "leave it out: edge() takes what stands behind a dot for a port"});
  }
  nodes.push_back(std::move(node));
}

void topology_parts::add(const graph_node& node, node_content what) {
  contents.emplace(node.name, std::move(what));
  add(node);
}

stage_graph topology_parts::graph() const {
  stage_graph made;
  for (const graph_node& node : nodes) made.add(node);
  const auto first_of = [&](const std::string& name) { return pipelines.contains(name) ? part_name(name, 0) : name; };
  const auto last_of = [&](const std::string& name) {
    const auto found = pipelines.find(name);
    return found == pipelines.end() ? name : part_name(name, found->second.options.stages - 1);
  };
  for (const graph_edge& edge : edges) {
    made.connect_ports({last_of(edge.from.node), edge.from.port}, {first_of(edge.to.node), edge.to.port});
  }
  const auto inside = [&](const graph_edge& edge) {
    const auto node = contents.find(edge.to.node);
    return node != contents.end() && std::holds_alternative<cut_node>(node->second) &&
           std::get<cut_node>(node->second).part > 0;
  };
  if (!std::ranges::all_of(edges, inside)) return made;
  const graph_node* before = nullptr;
  for (const graph_node& node : nodes) {
    if (before != nullptr && !inside({{before->name, ""}, {node.name, ""}})) made.connect(before->name, node.name);
    if (node.kind != node_kind::sink) before = &node;
  }
  return made;
}

}  // namespace troupe
