#include "testing/simulation/graph.hpp"

#include <array>

#include <fmt/format.h>

namespace troupe::simulation {
namespace {

std::string name_of_outlet(const outlet& which) {
  if (which.node == from_source) return "loader";
  return fmt::format("{}.{}", name_of_node(which.node), which.port);
}

std::string names_of(const std::vector<outlet>& outlets) {
  std::string text;
  for (const outlet& each : outlets) text += " " + name_of_outlet(each);
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

std::string name_of_node(std::uint32_t node) {
  return fmt::format("n{}", node);
}

std::string describe(const graph_plan& what) {
  constexpr std::array<const char*, 3> sorts = {"stage", "join", "route"};
  std::string text;
  for (std::uint32_t at = 0; at < what.nodes.size(); ++at) {
    const node_plan& node = what.nodes[at];
    text += fmt::format("  {} {} x {}, {} outputs, pipe buffers {}{}{}{}, takes{}\n", name_of_node(at),
                        sorts[static_cast<std::size_t>(node.sort)], node.replicas, node.outputs, node.pipe_buffers,
                        node.ordered ? ", ordered" : "", node.group == 0 ? "" : fmt::format(", group {}", node.group),
                        node.slowness == 1 ? "" : fmt::format(", replica 0 slower by {}", node.slowness),
                        names_of(node.inputs));
  }
  return text + fmt::format("  sinks of{}\n", names_of(what.sinks));
}

}  // namespace troupe::simulation
