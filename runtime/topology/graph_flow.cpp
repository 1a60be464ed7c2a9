#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "messages/check.hpp"
#include "runtime/topology/stage_graph.hpp"

// What follows from how micro-batches flow: where their order is kept, and where slots are too few to keep a fork full.
namespace troupe {
namespace {

bool copied_together(const graph_node& a, const graph_node& b) {
  return !a.pipeline_group.empty() && a.pipeline_group == b.pipeline_group;
}

/// Longest and narrowest way from a fork to a node: `stages` that work in between, `slots` that can hold micro-batches.
struct way {
  std::uint64_t longest_stages = 0;
  std::uint64_t fewest_slots = UINT64_MAX;
  /// Some of them have more where micro-batches are small.
  bool has_more = false;
};

/// Where the size decides: of large micro-batches.
std::uint64_t buffers_of(const graph_node& node) {
  return node.num_pipe_buffers.value_or(limits::pipe_buffers_default);
}

/// Ways from `fork`, by node, through one of its edges; nodes that it does not reach are missing.
std::map<std::size_t, way> ways_from(const stage_graph& graph, const std::vector<std::size_t>& order,
                                     const graph_edge& first) {
  std::map<std::size_t, way> found;
  const std::size_t start = graph.find(first.to.node);
  found[start] = {0, buffers_of(graph.nodes()[start]), !graph.nodes()[start].num_pipe_buffers};
  for (const std::size_t node : order) {
    const auto here = found.find(node);
    if (here == found.end()) continue;
    for (const graph_edge& edge : graph.edges()) {
      if (edge.from.node != graph.nodes()[node].name) continue;
      const std::size_t to = graph.find(edge.to.node);
      way& there = found[to];
      there.longest_stages = std::max(there.longest_stages, here->second.longest_stages + 1);
      there.has_more = there.has_more || here->second.has_more || !graph.nodes()[to].num_pipe_buffers;
      there.fewest_slots = std::min(there.fewest_slots, here->second.fewest_slots + buffers_of(graph.nodes()[to]));
    }
  }
  return found;
}

std::vector<const graph_edge*> edges_from(const stage_graph& graph, const std::string& node) {
  std::vector<const graph_edge*> edges;
  for (const graph_edge& edge : graph.edges()) {
    const bool to_sink = graph.nodes()[graph.find(edge.to.node)].kind == node_kind::sink;
    if (edge.from.node == node && !to_sink) edges.push_back(&edge);
  }
  return edges;
}

}  // namespace

// Why a run ends. Every node that feeds a node in id order must itself send ascending ids on each edge: a source, a
// node in id order, and a node each of whose replicas is fed by one replica of such a node. Take the least unfinished
// id: all smaller ids have left every slot, so it comes first on each edge into a node in id order, and elsewhere
// nothing waits for another id. So it can move. Over calls: an engine passes the end of a call on before it sends
// anything of a later call; a node in id order drops ids of an ended call even while it waits for room.
bool emits_in_order(const stage_graph& graph, std::size_t index) {
  const graph_node& node = graph.nodes()[index];
  if (node.kind == node_kind::source || node.keeps_order()) return true;
  for (const graph_edge& edge : graph.edges()) {
    if (edge.to.node != node.name) continue;
    const std::size_t from = graph.find(edge.from.node);
    const graph_node& producer = graph.nodes()[from];
    if (producer.replicas > 1 && !copied_together(producer, node)) return false;
    if (!emits_in_order(graph, from)) return false;
  }
  return true;
}

std::vector<std::string> find_shortages(const stage_graph& graph) {
  const auto order = topological_order(graph);
  TROUPE_CHECK(order, "a valid graph has no cycle");
  std::vector<std::string> found;
  for (const std::size_t fork : *order) {
    const auto edges = edges_from(graph, graph.nodes()[fork].name);
    if (edges.size() < 2) continue;
    for (const graph_edge* short_edge : edges) {
      const auto short_ways = ways_from(graph, *order, *short_edge);
      for (const graph_edge* long_edge : edges) {
        if (short_edge == long_edge) continue;
        const auto long_ways = ways_from(graph, *order, *long_edge);
        for (const auto& [node, longest] : long_ways) {
          const auto narrow = short_ways.find(node);
          if (graph.nodes()[node].inputs.size() < 2 || narrow == short_ways.end()) continue;
          // One micro-batch in each stage of the long branch and one that the join works on.
          const std::uint64_t needed = longest.longest_stages + 1;
          if (narrow->second.fewest_slots >= needed) continue;
          found.push_back(
              fmt::format("between '{}' and '{}' the branch by '{}' has {} slots{}, and the one by '{}' has {} stages: "
                          "give '{}' {} buffers to keep both busy",
                          graph.nodes()[fork].name, graph.nodes()[node].name, short_edge->to.node,
                          narrow->second.fewest_slots, narrow->second.has_more ? " where micro-batches are large" : "",
                          long_edge->to.node, longest.longest_stages, graph.nodes()[node].name,
                          buffers_of(graph.nodes()[node]) + needed - narrow->second.fewest_slots));
        }
      }
    }
  }
  return found;
}

}  // namespace troupe
