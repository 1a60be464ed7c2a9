#include "program/stage_devices.hpp"

#include <variant>

#include "program/topology_parts.hpp"
#include "runtime/device/device_name.hpp"
#include "runtime/tensor/torch_device.hpp"

namespace troupe {
namespace {

/// How many replicas before this one leave the choice of such a device open.
std::uint32_t place_among(const topology& what, const wiring_plan& plan, stage_address at, const std::string& asked) {
  std::uint32_t before = 0;
  for (const wired_instance& each : plan.instances) {
    if (each.address == at) break;
    if (asked_device(what, plan, each.address.stage) == asked) ++before;
  }
  return before;
}

bool is_on_device(const topology& what, const wiring_plan& plan, stage_index node) {
  return asked_device(what, plan, node) != "cpu";
}

}  // namespace

std::string asked_device(const topology& what, const wiring_plan& plan, stage_index node) {
  const auto found = what.parts().contents.find(plan.nodes[node].name);
  if (found == what.parts().contents.end()) return "cpu";  // a source
  if (const auto* stage = std::get_if<stage_node>(&found->second)) return stage->options.device;
  const auto* part = std::get_if<cut_node>(&found->second);
  return part == nullptr ? "cpu" : what.parts().pipelines.at(part->pipeline).options.device;
}

expected<c10::Device> device_of(const topology& what, const wiring_plan& plan, stage_address at) {
  const std::string text = asked_device(what, plan, at.stage);
  const std::string& name = plan.nodes[at.stage].name;
  return parse_device(text, "stage '" + name + "', device").and_then([&](const device_name& asked) {
    return torch_device(asked, "'" + name + "'", place_among(what, plan, at, text));
  });
}

std::vector<bool> leaving_outputs(const topology& what, const wiring_plan& plan, stage_index node, bool are_apart) {
  const auto is_alone = [&](stage_index each) {
    return are_apart || what.parts().wants_process(plan.nodes[each].name);
  };
  std::vector<bool> leaves(plan.nodes[node].outputs.size(), is_alone(node));
  for (const wired_channel& channel : plan.channels) {
    if (plan.instances[channel.producer].address.stage != node) continue;
    const stage_index to = plan.instances[channel.consumer].address.stage;
    if (!is_on_device(what, plan, to) || is_alone(to)) leaves[channel.output_port] = true;
  }
  for (const wired_sink& sink : plan.sinks) {
    if (sink.stage == node) leaves[sink.output_port] = true;
  }
  return leaves;
}

}  // namespace troupe
