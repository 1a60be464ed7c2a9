#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/topology/stage_graph.hpp"

namespace troupe {
namespace {

/// Successors of every node, once per edge.
std::vector<std::vector<std::size_t>> successors(const stage_graph& graph) {
  std::vector<std::vector<std::size_t>> next(graph.nodes().size());
  for (const graph_edge& edge : graph.edges()) {
    const std::size_t from = graph.find(edge.from.node);
    const std::size_t to = graph.find(edge.to.node);
    if (from < next.size() && to < next.size()) {
      next[from].push_back(to);
    }
  }
  return next;
}

/// "a -> b -> a": among the nodes that never became free, walk against the edges until one comes again.
std::string cycle_path(const stage_graph& graph, const std::vector<std::vector<std::size_t>>& next,
                       const std::vector<bool>& ordered) {
  std::vector<std::size_t> walk{
      static_cast<std::size_t>(std::find(ordered.begin(), ordered.end(), false) - ordered.begin())};
  for (;;) {
    for (std::size_t from = 0; from < next.size(); ++from) {
      // A node that was never ordered waits for another one like it, so such a predecessor exists.
      if (!ordered[from] && std::count(next[from].begin(), next[from].end(), walk.back()) > 0) {
        walk.push_back(from);
        break;
      }
    }
    const auto first = std::find(walk.begin(), walk.end() - 1, walk.back());
    if (first != walk.end() - 1) {
      std::vector<std::string> names;
      std::transform(first, walk.end(), std::back_inserter(names),
                     [&](std::size_t n) { return graph.nodes()[n].name; });
      std::reverse(names.begin(), names.end());
      return fmt::format("{}", fmt::join(names, " -> "));
    }
  }
}

}  // namespace

expected<std::vector<std::size_t>> topological_order(const stage_graph& graph) {
  const auto next = successors(graph);
  std::vector<std::size_t> waiting_for(next.size(), 0);
  for (const auto& list : next) {
    for (const std::size_t to : list) {
      ++waiting_for[to];
    }
  }
  std::vector<bool> ordered(next.size(), false);
  std::vector<std::size_t> order;
  while (order.size() < next.size()) {
    std::size_t node = 0;
    while (node < next.size() && (ordered[node] || waiting_for[node] > 0)) {
      ++node;
    }
    if (node == next.size()) {
      return fail(error_code::topology_cycle, "topology", "the nodes form a cycle: " + cycle_path(graph, next, ordered),
                  "remove one of these edges and the input that it feeds; micro-batches only move forward");
    }
    ordered[node] = true;
    order.push_back(node);
    for (const std::size_t to : next[node]) {
      --waiting_for[to];
    }
  }
  return order;
}

}  // namespace troupe
