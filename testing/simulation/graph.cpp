#include "testing/simulation/graph.hpp"

#include <array>

#include <fmt/format.h>

namespace troupe::simulation {
namespace {

std::string name_of_outlet(const graph_plan& of, const outlet& which) {
  if (which.node == from_source) return "loader";
  return fmt::format("{}.{}", name_of_node(of, which.node), which.port);
}

std::string names_of(const graph_plan& of, const std::vector<outlet>& outlets) {
  std::string text;
  for (const outlet& each : outlets) text += " " + name_of_outlet(of, each);
  return text;
}

}  // namespace

graph_plan make_line(std::uint32_t stages, std::uint32_t replicas, std::uint32_t pipe_buffers) {
  graph_plan made;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    node_plan next{.replicas = replicas, .pipe_buffers = pipe_buffers, .group = 1};
    if (stage > 0) next.inputs = {{.node = stage - 1}};
    made.nodes.push_back(std::move(next));
  }
  made.sinks = {{.node = stages - 1}};
  return made;
}

std::string name_of_node(const graph_plan& of, std::uint32_t node) {
  const std::string& given = of.nodes.at(node).name;
  return given.empty() ? fmt::format("n{}", node) : given;
}

std::size_t case_of(const node_plan& route, std::uint64_t sample) {
  return (route.code && route.code->choose ? route.code->choose(sample) : sample) % route.outputs;
}

std::string describe(const graph_plan& what) {
  constexpr std::array<const char*, 3> sorts = {"stage", "join", "route"};
  std::string text;
  for (std::uint32_t at = 0; at < what.nodes.size(); ++at) {
    const node_plan& node = what.nodes[at];
    text += fmt::format("  {} {} x {}, {} outputs, pipe buffers {}{}{}{}, takes{}\n", name_of_node(what, at),
                        sorts[static_cast<std::size_t>(node.sort)], node.replicas, node.outputs, node.pipe_buffers,
                        node.ordered ? ", ordered" : "", node.group == 0 ? "" : fmt::format(", group {}", node.group),
                        node.slowness == 1 ? "" : fmt::format(", replica 0 slower by {}", node.slowness),
                        names_of(what, node.inputs));
  }
  return text + fmt::format("  sinks of{}\n", names_of(what, what.sinks));
}

}  // namespace troupe::simulation
