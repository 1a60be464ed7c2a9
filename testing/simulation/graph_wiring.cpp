#include "testing/simulation/graph_wiring.hpp"

#include <utility>

#include <fmt/format.h>

#include "messages/check.hpp"

namespace troupe::simulation {
namespace {

constexpr const char* source_name = "loader";

port_name port_of(const graph_plan& of, const outlet& which) {
  if (which.node == from_source) return {source_name, stage_graph::default_output};
  return {name_of_node(of, which.node), fmt::format("out {}", which.port)};
}

graph_node stated_node(const graph_plan& of, std::uint32_t number) {
  const node_plan& what = of.nodes[number];
  graph_node made;
  made.name = name_of_node(of, number);
  made.kind = what.sort == node_sort::stage  ? node_kind::stage
              : what.sort == node_sort::join ? node_kind::join
                                             : node_kind::route;
  made.replicas = what.replicas;
  if (what.pipe_buffers != 0) made.num_pipe_buffers = what.pipe_buffers;
  if (what.group != 0) made.pipeline_group = fmt::format("group {}", what.group);
  made.ordered = what.ordered;
  made.covers_all_samples = what.sort == node_sort::route;
  for (std::size_t port = 0; port < what.inputs.size(); ++port) made.inputs.push_back(fmt::format("in {}", port));
  for (std::uint32_t port = 0; port < what.outputs; ++port) made.outputs.push_back(fmt::format("out {}", port));
  return made;
}

}  // namespace

stage_graph stated(const graph_plan& what) {
  stage_graph made;
  graph_node source;
  source.name = source_name;
  source.kind = node_kind::source;
  made.add(std::move(source));
  for (std::uint32_t at = 0; at < what.nodes.size(); ++at) made.add(stated_node(what, at));
  for (std::uint32_t at = 0; at < what.nodes.size(); ++at) {
    const std::vector<outlet>& inputs = what.nodes[at].inputs;
    for (std::size_t port = 0; port < inputs.size(); ++port) {
      made.connect_ports(port_of(what, inputs[port]), {name_of_node(what, at), fmt::format("in {}", port)});
    }
  }
  for (std::size_t at = 0; at < what.sinks.size(); ++at) {
    graph_node sink;
    sink.name = fmt::format("sink {}", at);
    sink.kind = node_kind::sink;
    made.add(sink);
    made.connect_ports(port_of(what, what.sinks[at]), {sink.name, stage_graph::default_input});
  }
  return made;
}

wiring_plan wiring_of(const graph_plan& what, bool trains, const std::vector<std::uint32_t>& tied) {
  auto made = expand(stated(what));
  TROUPE_CHECK(made, "plans have valid graphs");
  for (std::uint32_t at = 0; at < what.nodes.size(); ++at) {
    TROUPE_CHECK(made->nodes[at].name == name_of_node(what, at), "the order of a plan is the order of the wiring");
  }
  if (trains) TROUPE_CHECK(make_trainable(*made), "plans that train are chains");
  std::vector<tied_stages> ties;
  for (const std::uint32_t one : tied) {
    for (const std::uint32_t other : tied) {
      if (one < other) ties.push_back({one, other});
    }
  }
  TROUPE_CHECK(add_ties(*made, ties), "tied stages are in the chain");
  return std::move(*made);
}

}  // namespace troupe::simulation
