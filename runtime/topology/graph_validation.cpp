#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <troupe/runtime/topology/stage_graph.hpp>

namespace troupe {
namespace {

std::string place(const graph_node& node) {
  return fmt::format("{} '{}'", node_kind_name(node.kind), node.name);
}

std::string text_of(const graph_edge& edge) {
  return fmt::format("edge {}.{} -> {}.{}", edge.from.node, edge.from.port, edge.to.node, edge.to.port);
}

tl::unexpected<error> invalid(std::string where, std::string cause, std::string fix) {
  return fail(error_code::topology_invalid, std::move(where), std::move(cause), std::move(fix));
}

bool has(const std::vector<std::string>& ports, const std::string& port) {
  return std::find(ports.begin(), ports.end(), port) != ports.end();
}

expected<void> check_count(const graph_node& node, std::string_view what, std::uint64_t value, std::uint64_t high) {
  if (value >= 1 && value <= high) {
    return {};
  }
  return invalid(place(node), fmt::format("{} is {}, allowed are 1 to {}", what, value, high),
                 fmt::format("choose a number of {} between 1 and {}", what, high));
}

expected<void> check_ports(const graph_node& node) {
  std::set<std::string> seen;
  for (const auto* ports : {&node.inputs, &node.outputs}) {
    for (const std::string& port : *ports) {
      if (!seen.insert(port).second) {
        return fail(error_code::topology_duplicate_name, place(node), fmt::format("two ports are called '{}'", port),
                    "give every port of a node a name of its own");
      }
    }
  }
  if (node.kind == node_kind::source && !node.inputs.empty()) {
    return invalid(place(node), "a source has no input", "remove its input ports");
  }
  if (node.kind == node_kind::sink && !node.outputs.empty()) {
    return invalid(place(node), "a sink has no output", "remove its output ports");
  }
  if (node.kind != node_kind::source && node.inputs.size() > 1) {
    return invalid(place(node), fmt::format("{} inputs, and only one is possible without a join", node.inputs.size()),
                   "leave it one input port");
  }
  return {};
}

expected<void> check_copies(const graph_node& node) {
  if (node.kind != node_kind::stage && node.replicas != 1) {
    return invalid(
        place(node),
        fmt::format("a {} is not copied, and {} replicas are asked for", node_kind_name(node.kind), node.replicas),
        "copy the stages; one source serves all replicas, and every replica serves the sink");
  }
  if (!node.placements.empty() && node.placements.size() != node.replicas) {
    return invalid(place(node), fmt::format("{} placements for {} replicas", node.placements.size(), node.replicas),
                   "give one placement per replica, or none");
  }
  return {};
}

expected<void> check_node(const graph_node& node) {
  if (node.name.empty()) {
    return invalid(place(node), "the node has no name", "name it");
  }
  return check_count(node, "replicas", node.replicas, limits::replicas_max)
      .and_then([&] { return check_count(node, "pipe buffers", node.num_pipe_buffers, limits::pipe_buffers_max); })
      .and_then([&] { return check_ports(node); })
      .and_then([&] { return check_copies(node); });
}

expected<void> check_nodes(const stage_graph& graph) {
  std::set<std::string> names;
  for (const graph_node& node : graph.nodes()) {
    if (auto ok = check_node(node); !ok) {
      return ok;
    }
    if (!names.insert(node.name).second) {
      return fail(error_code::topology_duplicate_name, "topology", fmt::format("two nodes are called '{}'", node.name),
                  "give every node a name of its own");
    }
  }
  for (const node_kind kind : {node_kind::source, node_kind::stage, node_kind::sink}) {
    const auto is_kind = [&](const graph_node& n) { return n.kind == kind; };
    const auto count = std::count_if(graph.nodes().begin(), graph.nodes().end(), is_kind);
    if (count == 0) {
      return invalid("topology", fmt::format("there is no {}", node_kind_name(kind)),
                     fmt::format("add a {}", node_kind_name(kind)));
    }
    if (count > static_cast<std::ptrdiff_t>(limits::stages_max)) {
      return invalid(
          "topology",
          fmt::format("{} nodes are a {}, at most {} may be", count, node_kind_name(kind), limits::stages_max),
          "use fewer");
    }
  }
  return {};
}

expected<void> check_groups(const stage_graph& graph) {
  for (const graph_node& a : graph.nodes()) {
    for (const graph_node& b : graph.nodes()) {
      if (!a.pipeline_group.empty() && a.pipeline_group == b.pipeline_group && a.replicas != b.replicas) {
        return invalid(place(b),
                       fmt::format("{} replicas, and '{}' of the same pipeline '{}' has {}", b.replicas, a.name,
                                   a.pipeline_group, a.replicas),
                       "give all stages of a pipeline the same number of replicas");
      }
    }
  }
  return {};
}

expected<void> check_end(const stage_graph& graph, const graph_edge& edge, const port_name& end, bool is_input) {
  const std::size_t index = graph.find(end.node);
  if (index == graph.nodes().size()) {
    return invalid(text_of(edge), fmt::format("there is no node '{}'", end.node), "correct the name, or add the node");
  }
  const graph_node& node = graph.nodes()[index];
  if (!has(is_input ? node.inputs : node.outputs, end.port)) {
    return fail(error_code::topology_dangling_port, text_of(edge),
                fmt::format("{} has no {} '{}'", place(node), is_input ? "input" : "output", end.port),
                "correct the name of the port, or add it to the node");
  }
  return {};
}

expected<void> check_edges(const stage_graph& graph) {
  const auto& edges = graph.edges();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (auto ok = check_end(graph, edges[i], edges[i].from, false).and_then([&] {
          return check_end(graph, edges[i], edges[i].to, true);
        });
        !ok) {
      return ok;
    }
    const auto earlier = std::find_if(edges.begin(), edges.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const graph_edge& e) { return e.to == edges[i].to; });
    if (earlier != edges.begin() + static_cast<std::ptrdiff_t>(i)) {
      return invalid(text_of(edges[i]),
                     fmt::format("input '{}' of '{}' is already fed by '{}'", edges[i].to.port, edges[i].to.node,
                                 earlier->from.node),
                     "leave one edge per input");
    }
    const bool scores_a_source = graph.nodes()[graph.find(edges[i].from.node)].kind == node_kind::source &&
                                 graph.nodes()[graph.find(edges[i].to.node)].kind == node_kind::sink;
    if (scores_a_source) {
      return invalid(text_of(edges[i]), "a sink scores what a stage computes, and a source computes nothing",
                     "put a stage between them");
    }
  }
  return {};
}

expected<void> check_connected(const stage_graph& graph) {
  std::set<std::pair<std::string, std::string>> used;
  for (const graph_edge& edge : graph.edges()) {
    used.emplace(edge.from.node, edge.from.port);
    used.emplace(edge.to.node, edge.to.port);
  }
  for (const graph_node& node : graph.nodes()) {
    for (const auto* ports : {&node.inputs, &node.outputs}) {
      for (const std::string& port : *ports) {
        if (!used.contains({node.name, port})) {
          const bool is_input = ports == &node.inputs;
          return fail(error_code::topology_dangling_port, place(node),
                      fmt::format("nobody {} its {} '{}'", is_input ? "sends to" : "receives from",
                                  is_input ? "input" : "output", port),
                      "connect the port, or remove the node");
        }
      }
    }
  }
  return {};
}

bool copied_together(const graph_node& a, const graph_node& b) {
  const bool same_group = !a.pipeline_group.empty() && a.pipeline_group == b.pipeline_group;
  return same_group || (a.replicas == 1 && b.replicas == 1);
}

}  // namespace

expected<void> validate(const stage_graph& graph) {
  return check_nodes(graph)
      .and_then([&] { return check_groups(graph); })
      .and_then([&] { return check_edges(graph); })
      .and_then([&] { return check_connected(graph); })
      .and_then([&] { return topological_order(graph); })
      .map([](const auto&) {});
}

expected<void> require_chain(const stage_graph& graph) {
  if (auto ok = validate(graph); !ok) {
    return ok;
  }
  const auto is_stage = [&](const std::string& name) {
    return graph.nodes()[graph.find(name)].kind == node_kind::stage;
  };
  const graph_node* source = nullptr;
  const graph_node* stage = nullptr;
  for (const graph_node& node : graph.nodes()) {
    std::size_t to_stages = 0;
    std::size_t to_sinks = 0;
    for (const graph_edge& edge : graph.edges()) {
      if (edge.from.node == node.name) {
        ++(is_stage(edge.to.node) ? to_stages : to_sinks);
      }
    }
    if (to_stages > 1 || (to_stages == 1 && to_sinks > 0) || (node.kind == node_kind::source && source != nullptr)) {
      return invalid(place(node), "the topology is no chain here",
                     "use one source, one edge from each stage to the next, and sinks behind the last stage");
    }
    if (node.kind == node_kind::stage && stage != nullptr && !copied_together(*stage, node)) {
      return invalid(place(node), fmt::format("it is not copied together with '{}'", stage->name),
                     "put all stages into one pipeline group");
    }
    source = node.kind == node_kind::source ? &node : source;
    stage = node.kind == node_kind::stage ? &node : stage;
  }
  return {};
}

}  // namespace troupe
