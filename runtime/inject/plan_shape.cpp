#include "runtime/inject/plan_shape.hpp"

#include <algorithm>
#include <utility>

#include "messages/limits.hpp"
#include "runtime/fault/fault_shape.hpp"

namespace troupe {

fault_shape shape_of(const wiring_plan& plan, const std::function<bool(stage_address at)>& is_remote) {
  fault_shape made;
  for (stage_index node = 0; node < plan.nodes.size(); ++node) {
    const wired_node& one = plan.nodes[node];
    if (one.kind == node_kind::source) continue;
    const bool in_process = is_remote && is_remote({node, 0});
    made.stages.push_back({.name = one.name, .replicas = one.replicas, .in_process = in_process});
    if (in_process) made.workers += one.replicas;
  }
  if (made.workers > 0) made.workers += limits::worker_spares;
  for (const wired_channel& each : plan.channels) {
    const auto name = [&](std::size_t instance) { return plan.nodes[plan.instances[instance].address.stage].name; };
    std::pair edge{name(each.producer), name(each.consumer)};
    if (std::ranges::find(made.edges, edge) == made.edges.end()) made.edges.push_back(std::move(edge));
  }
  return made;
}

bool is_of_channel(const fault& one, const wiring_plan& plan, std::size_t channel) {
  if (one.who.kind != fault_target_kind::edge) return false;
  const fault_shape shape = shape_of(plan, nullptr);
  const auto is_named = [&](const std::string& name, std::size_t instance) {
    const stage_index node = plan.instances[instance].address.stage;
    return name == plan.nodes[node].name || find_stage(shape, name) == node;
  };
  return is_named(one.who.name, plan.channels[channel].producer) &&
         is_named(one.who.to, plan.channels[channel].consumer);
}

}  // namespace troupe
