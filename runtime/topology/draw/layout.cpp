#include "runtime/topology/draw/layout.hpp"

#include <algorithm>

#include "messages/check.hpp"

namespace troupe {
namespace {

std::vector<std::size_t> predecessors(const stage_graph& graph, std::size_t node) {
  std::vector<std::size_t> found;
  for (const graph_edge& edge : graph.edges()) {
    if (edge.to.node == graph.nodes()[node].name) found.push_back(graph.find(edge.from.node));
  }
  return found;
}

}  // namespace

std::vector<grid_place> lay_out(const stage_graph& graph) {
  const auto order = topological_order(graph);
  TROUPE_CHECK(order, "a valid graph has no cycle");
  std::vector<grid_place> places(graph.nodes().size());
  std::vector<std::vector<std::size_t>> columns(graph.nodes().size());
  for (const std::size_t node : *order) {
    for (const std::size_t from : predecessors(graph, node)) {
      places[node].column = std::max(places[node].column, places[from].column + 1);
    }
    columns[places[node].column].push_back(node);
  }
  for (auto& column : columns) {
    std::vector<double> wanted(graph.nodes().size(), 0);
    for (const std::size_t node : column) {
      const auto from = predecessors(graph, node);
      for (const std::size_t each : from) wanted[node] += static_cast<double>(places[each].row);
      if (!from.empty()) wanted[node] /= static_cast<double>(from.size());
    }
    std::ranges::stable_sort(column, {}, [&](std::size_t node) { return wanted[node]; });
    for (std::size_t row = 0; row < column.size(); ++row) places[column[row]].row = row;
  }
  return places;
}

}  // namespace troupe
