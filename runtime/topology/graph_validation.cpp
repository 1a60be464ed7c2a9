#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "runtime/topology/stage_graph.hpp"

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
  if (node.kind == node_kind::join && node.inputs.size() < 2) {
    return invalid(place(node), fmt::format("a join of {} input", node.inputs.size()), "give it two inputs or more");
  }
  if (node.kind == node_kind::route && node.outputs.size() < 2) {
    return invalid(place(node), fmt::format("a route with {} case", node.outputs.size()), "give it two cases or more");
  }
  const bool one_input = node.kind == node_kind::route || node.kind == node_kind::sink;
  if (one_input && node.inputs.size() > 1) {
    return invalid(place(node),
                   fmt::format("a {} has one input, and not {}", node_kind_name(node.kind), node.inputs.size()),
                   "put a join before it");
  }
  if (node.inputs.size() > limits::ports_max || node.outputs.size() > limits::ports_max) {
    return invalid(place(node), fmt::format("more than {} ports", limits::ports_max), "use several nodes");
  }
  if (node.kind == node_kind::route && !node.covers_all_samples) {
    return fail(error_code::topology_route_incomplete, place(node),
                "a sample that matches none of its cases would be lost",
                "end its cases with one that has no predicate");
  }
  return {};
}

expected<void> check_copies(const graph_node& node) {
  const bool an_end = node.kind == node_kind::source || node.kind == node_kind::sink;
  if (an_end && node.replicas != 1) {
    return invalid(
        place(node),
        fmt::format("a {} is not copied, and {} replicas are asked for", node_kind_name(node.kind), node.replicas),
        "copy the stages; one source serves all replicas, and every replica serves the sink");
  }
  return {};
}

expected<void> check_node(const graph_node& node) {
  if (node.name.empty()) {
    return invalid(place(node), "the node has no name", "name it");
  }
  return check_count(node, "replicas", node.replicas, limits::replicas_max)
      .and_then([&] {
        return check_count(node, "pipe buffers", node.num_pipe_buffers.value_or(1), limits::pipe_buffers_max);
      })
      .and_then([&] { return check_ports(node); })
      .and_then([&] { return check_copies(node); });
}

/// Joins and routes work as stages do.
expected<void> check_counts(const stage_graph& graph) {
  std::size_t sources = 0;
  std::size_t sinks = 0;
  for (const graph_node& node : graph.nodes()) {
    sources += node.kind == node_kind::source ? 1 : 0;
    sinks += node.kind == node_kind::sink ? 1 : 0;
  }
  const std::size_t stages = graph.nodes().size() - sources - sinks;
  if (sources == 0) return invalid("topology", "there is no source", "add a source");
  if (stages == 0) return invalid("topology", "there is no stage", "add a stage");
  if (sinks == 0) return invalid("topology", "there is no sink", "add a sink");
  if (sources > 1) {
    return invalid("topology", fmt::format("{} sources, and a run has one loader", sources),
                   "let one source give the tensors of all (a sample may have several)");
  }
  for (const auto& [count, what] : {std::pair{stages, "stage"}, std::pair{sinks, "sink"}}) {
    if (count > limits::stages_max) {
      return invalid("topology", fmt::format("{} nodes are a {}, at most {} may be", count, what, limits::stages_max),
                     "use fewer");
    }
  }
  return {};
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
  return check_counts(graph);
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
                      fmt::format("no node {} its {} '{}'", is_input ? "sends to" : "receives from",
                                  is_input ? "input" : "output", port),
                      "connect the port, or remove the node");
        }
      }
    }
  }
  return {};
}

/// The node at which order is lost, going up from one that does not emit in order.
const std::string& unordered_origin(const stage_graph& graph, std::size_t node) {
  for (const graph_edge& edge : graph.edges()) {
    const std::size_t from = graph.find(edge.from.node);
    if (edge.to.node == graph.nodes()[node].name && !emits_in_order(graph, from)) return unordered_origin(graph, from);
  }
  return graph.nodes()[node].name;
}

/// Only asked of graphs without cycles.
expected<void> check_order(const stage_graph& graph) {
  for (const graph_edge& edge : graph.edges()) {
    const graph_node& waiting = graph.nodes()[graph.find(edge.to.node)];
    const std::size_t from = graph.find(edge.from.node);
    if (!waiting.keeps_order() || emits_in_order(graph, from)) continue;
    return fail(
        error_code::topology_join_starves, place(waiting),
        fmt::format("it can starve: it takes micro-batches in id order, and {} passes them on as they come from "
                    "several replicas",
                    place(graph.nodes()[from])),
        fmt::format("mark '{}' as ordered", unordered_origin(graph, from)));
  }
  return {};
}

}  // namespace

expected<void> validate(const stage_graph& graph) {
  return check_nodes(graph)
      .and_then([&] { return check_groups(graph); })
      .and_then([&] { return check_edges(graph); })
      .and_then([&] { return check_connected(graph); })
      .and_then([&] { return topological_order(graph); })
      .and_then([&](const auto&) { return check_order(graph); });
}

}  // namespace troupe
