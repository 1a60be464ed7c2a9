#include <algorithm>

#include <fmt/format.h>

#include "messages/check.hpp"
#include "messages/printable.hpp"
#include "runtime/topology/draw/labels.hpp"

namespace troupe {
namespace {

std::string credits_label(const graph_node& node) {
  if (!node.num_pipe_buffers) return "credits by size";
  return fmt::format("{} credit{}", *node.num_pipe_buffers, *node.num_pipe_buffers == 1 ? "" : "s");
}

}  // namespace

std::string draw_text(const stage_graph& graph) {
  const auto order = topological_order(graph);
  TROUPE_CHECK(order, "a valid graph has no cycle");
  std::string text;
  for (const std::size_t index : *order) {
    const graph_node& node = graph.nodes()[index];
    text += fmt::format("{:<6}  {}{}\n", node_kind_name(node.kind), printable(node.name), node_label(node));
    std::vector<const graph_edge*> out;
    for (const graph_edge& edge : graph.edges()) {
      if (edge.from.node == node.name) out.push_back(&edge);
    }
    for (const graph_edge* edge : out) {
      text += fmt::format("        {}─ {} ─▶ {}\n", edge == out.back() ? "└" : "├", printable(edge_label(graph, *edge)),
                          printable(edge->to.node));
    }
  }
  return text;
}

std::string node_label(const graph_node& node) {
  std::string text;
  if (node.replicas > 1) text += fmt::format("  ×{}", node.replicas);
  if (node.ordered) text += "  in id order";
  return text;
}

std::string edge_label(const stage_graph& graph, const graph_edge& edge) {
  const graph_node& to = graph.nodes()[graph.find(edge.to.node)];
  std::string text = to.kind == node_kind::sink ? "scores" : credits_label(to);
  if (edge.from.port != stage_graph::default_output) text = fmt::format("{}: {}", edge.from.port, text);
  if (edge.to.port != stage_graph::default_input) text = fmt::format("{}, as {}", text, edge.to.port);
  return text;
}

}  // namespace troupe
