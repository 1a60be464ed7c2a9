#include <algorithm>

#include "tests/protocol/graphs.hpp"

namespace troupe::testing {
namespace {

using inputs = std::vector<std::uint8_t>;

const flow_node source{};

flow_node stage(std::uint8_t from, std::uint8_t replicas = 1) {
  return {.inputs = {from}, .replicas = replicas};
}

flow_node ordered(std::uint8_t from, std::uint8_t replicas = 1) {
  return {.inputs = {from}, .ordered = true, .replicas = replicas};
}

flow_node lane(std::uint8_t from, std::uint8_t replicas = 2) {
  return {.inputs = {from}, .replicas = replicas, .is_lane = true};
}

flow_node join(inputs from, std::uint8_t replicas = 1) {
  return {.inputs = std::move(from), .replicas = replicas};
}

flow_node scored(flow_node node) {
  node.has_sink = true;
  return node;
}

flow_graph copied(flow_graph graph, std::uint32_t which) {
  graph.name += ", copied " + std::to_string(which);
  for (std::size_t n = 1; n < graph.nodes.size(); ++n) graph.nodes[n].replicas = (which >> n & 1u) != 0 ? 2 : 1;
  return graph;
}

flow_graph put_in_order(flow_graph graph) {
  for (flow_node& node : graph.nodes) {
    const bool is_stage = node.inputs.size() == 1;
    if (is_stage && graph.nodes[node.inputs.front()].replicas > 1) node.ordered = true;
  }
  return graph;
}

}  // namespace

std::vector<flow_graph> copies_of(const flow_graph& graph) {
  std::vector<flow_graph> found;
  if (std::ranges::any_of(graph.nodes, &flow_node::is_lane)) return found;
  for (std::uint32_t which = 2; which < 1u << graph.nodes.size(); which += 2) {
    flow_graph plain = copied(graph, which);
    flow_graph in_order = put_in_order(plain);
    const bool is_other = to_string(plain) != to_string(in_order);
    if (is_accepted(plain)) found.push_back(std::move(plain));
    if (is_other) found.push_back(std::move(in_order));
  }
  return found;
}

/// Routes are drawn as forks: every branch gets a part of every id, and an empty part travels like any other.
std::vector<flow_graph> hand_made_graphs() {
  return {
      {"diamond", {source, stage(0), stage(1), stage(1), scored(join({2, 3}))}},
      {"unequal branches", {source, stage(0), stage(1), stage(1), stage(3), stage(4), scored(join({2, 5}))}},
      {"fork straight into a join", {source, stage(0), join({1, 1}), scored(stage(2))}},
      {"small and big, big copied", {source, stage(0), stage(1), stage(1, 2), join({2, 3}), scored(stage(4))}},
      {"small and big, ordered behind big",
       {source, stage(0), stage(1), stage(1, 2), ordered(3), scored(join({2, 4}))}},
      {"small and big, both copied", {source, stage(0), stage(1, 2), stage(1, 2), scored(join({2, 3}))}},
      {"diamond in a diamond", {source, stage(0), stage(0), stage(1), stage(1), join({3, 4}), scored(join({5, 2}))}},
      {"diamond behind a diamond",
       {source, stage(0), stage(0), join({1, 2}), stage(3), stage(3), scored(join({4, 5}))}},
      {"sinks on two branches", {source, stage(0), scored(stage(1)), stage(1), scored(stage(3, 2))}},
      {"sink beside a join", {source, stage(0), stage(0, 2), scored(join({1, 2})), scored(stage(2))}},
      {"sinks along the way", {source, scored(stage(0)), stage(1), stage(1, 2), scored(join({2, 3}))}},
      {"join in two replicas", {source, stage(0), stage(0), join({1, 2}, 2), scored(stage(3))}},
      {"join in two replicas, then a join",
       {source, stage(0), stage(0), join({1, 2}, 2), stage(0), scored(join({3, 4}))}},
      {"join in two replicas, lanes, then ordered",
       {source, stage(0), stage(0), join({1, 2}, 2), lane(3), scored(ordered(4))}},
      {"copied behind copied, not joined", {source, stage(0, 2), stage(1, 2), scored(stage(2))}},
      {"copied, ordered, copied, ordered", {source, stage(0, 2), ordered(1), stage(2, 2), scored(ordered(3))}},
      {"ordered in two replicas", {source, stage(0, 2), ordered(1, 2), stage(0), scored(join({2, 3}))}},
      {"lanes before a join", {source, stage(0, 2), lane(1), stage(0), scored(join({2, 3}))}},
      {"ladder", {source, stage(0), stage(0), join({1, 2}), join({2, 3}), join({3, 4}), scored(join({4, 5}))}},
      {"ladder of copies", {source, stage(0, 2), stage(0), join({1, 2}), join({2, 3}, 2), scored(join({3, 4}))}},
      {"three branches, one copied", {source, stage(0), stage(1), stage(1), stage(1, 2), scored(join({2, 3, 4}))}},
      {"skips from the source", {source, stage(0), stage(1), stage(2), scored(join({0, 1, 2, 3}))}},
      {"three sinks, three branches", {source, stage(0), scored(stage(1)), scored(stage(1, 2)), scored(ordered(0, 2))}},
  };
}

}  // namespace troupe::testing
