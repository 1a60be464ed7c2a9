#include "graph_draft.hpp"

#include <algorithm>
#include <utility>

#include "runtime/topology/stage_graph.hpp"

namespace troupe::testing {

bool disjoint(const row_box& a, const row_box& b) {
  return std::ranges::any_of(a, [&](const auto& each) {
    const auto found = b.find(each.first);
    return found != b.end() && (found->second & each.second) == 0;
  });
}

row_box bounds(const row_box& a, const row_box& b) {
  row_box both;
  for (const auto& [route, cases] : a) {
    if (const auto found = b.find(route); found != b.end()) both[route] = cases | found->second;
  }
  return both;
}

void graph_draft::add_end(const std::string& name, node_kind kind) {
  graph_node made;
  made.name = name;
  made.kind = kind;
  nodes.push_back(std::move(made));
}

std::size_t graph_draft::add_node(graph_node node, const std::vector<std::size_t>& from) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    node.inputs.push_back("in " + std::to_string(i));
    edges.push_back({outputs[from[i]].name, {node.name, node.inputs.back()}});
    ++outputs[from[i]].consumers;
  }
  nodes.push_back(std::move(node));
  return nodes.size() - 1;
}

void graph_draft::add_output(std::size_t node, const std::string& port, row_box rows) {
  nodes[node].outputs.push_back(port);
  outputs.push_back({{nodes[node].name, port}, std::move(rows)});
}

std::vector<std::size_t> graph_draft::loose_ends() const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].consumers == 0) found.push_back(i);
  }
  return found;
}

void graph_draft::mark_ordered(std::mt19937_64& random) {
  for (;;) {
    const stage_graph now = graph();
    const auto broken = std::ranges::find_if(edges, [&](const graph_edge& edge) {
      return now.nodes()[now.find(edge.to.node)].keeps_order() && !emits_in_order(now, now.find(edge.from.node));
    });
    if (broken == edges.end()) return;
    std::size_t marked = now.find(broken->from.node);
    for (const graph_edge& edge : edges) {
      const bool mixes_too = edge.to.node == nodes[marked].name && !emits_in_order(now, now.find(edge.from.node));
      if (mixes_too && random() % 2 == 0) marked = now.find(edge.from.node);
    }
    nodes[marked].ordered = true;
  }
}

stage_graph graph_draft::graph() const {
  stage_graph made;
  for (const graph_node& each : nodes) made.add(each);
  for (const graph_edge& each : edges) made.connect_ports(each.from, each.to);
  return made;
}

}  // namespace troupe::testing
