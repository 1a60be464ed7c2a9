#include "program/topology/topology_parts.hpp"

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

std::string topology_parts::place_of(const std::string& node, std::uint32_t replica) const {
  const auto found = places.find(node);
  if (found == places.end()) return {};
  return found->second.size() == 1 ? found->second.front() : found->second.at(replica);
}

bool topology_parts::is_open() const {
  const auto* found = data ? std::get_if<data_set_ptr>(&*data) : nullptr;
  return found != nullptr && *found == nullptr;
}

expected<void> topology_parts::check_places() const {
  for (const graph_node& node : nodes) {
    const auto found = places.find(node.name);
    if (found == places.end() || found->second.size() == 1 || found->second.size() == node.replicas) continue;
    return fail(error_code::topology_invalid, "stage '" + node.name + "'",
                "its placement names " + std::to_string(found->second.size()) + " nodes for " +
                    std::to_string(node.replicas) + " replicas",
                "name one node, or one for each replica");
  }
  return {};
}

expected<void> topology_parts::check_objects() const {
  for (const graph_node& node : nodes) {
    const auto found = contents.find(node.name);
    const auto* stage = found == contents.end() ? nullptr : std::get_if<stage_node>(&found->second);
    if (stage == nullptr || !stage->recipe.is_one_object() || node.replicas == 1) continue;
    return fail(error_code::topology_invalid, "stage '" + node.name + "'",
                "one object for " + std::to_string(node.replicas) + " replicas, which call it at a time",
                "give a factory that makes an object for each replica");
  }
  return {};
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
