#include "program/topology/stage_devices.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "messages/try.hpp"
#include "program/launch/process_role.hpp"
#include "program/topology/topology_parts.hpp"
#include "runtime/config/option_names.hpp"
#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/cuda/nccl_library.hpp"
#include "runtime/device/cuda_context.hpp"
#include "runtime/device/cuda_sharing.hpp"
#include "runtime/device/device_name.hpp"
#include "runtime/device/extension_device.hpp"
#include "runtime/edge/cuda_ipc/ipc_tools.hpp"
#include "runtime/edge/nccl/nccl_tools.hpp"
#include "runtime/tensor/device_tensor_codec.hpp"
#include "runtime/tensor/torch_cuda.hpp"
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

bool is_alone(const topology& what, const wiring_plan& plan, stage_index node, device_layout layout) {
  return layout.are_apart || what.parts().in_processes.contains(plan.nodes[node].name);
}

/// Both ends compute on devices, each in a process of its own.
bool joins_devices(const topology& what, const wiring_plan& plan, const wired_channel& channel, device_layout layout) {
  const auto may_be_end = [&](std::size_t instance) {
    const stage_index node = plan.instances[instance].address.stage;
    return is_on_device(what, plan, node) && is_alone(what, plan, node, layout);
  };
  return may_be_end(channel.producer) && may_be_end(channel.consumer);
}

expected<bool> can_connect(c10::Device one, c10::Device other, device_reach reach) {
  if (one.type() != other.type()) return false;
  if (!one.is_cuda()) {
    const extension_device made = get_extension_device();
    return made.context != nullptr && (reach == device_reach::host || made.collectives.has_value());
  }
  if (reach == device_reach::everywhere) {
    // NCCL takes processes with another NCCL_HOSTID for those of another machine.
    if (one != other || spans_nodes() || std::getenv("NCCL_HOSTID") != nullptr) return true;
    return fail(error_code::device_unavailable, "--transport nccl",
                "two neighbours are on " + one.str() + ", and NCCL connects no device with itself",
                "leave it out: what passes between them stays on the device");
  }
  return cuda_driver::load().and_then(
      [&](const cuda_driver& driver) { return reach_each_other(driver, one.index(), other.index()); });
}

/// The tensors of an output are in one place: what one taker cannot have there, none has.
void keep_whole_outputs(const wiring_plan& plan, std::vector<bool>& channels) {
  std::set<std::pair<stage_index, std::size_t>> on_host;
  const auto output_of = [&](std::size_t number) {
    const wired_channel& channel = plan.channels[number];
    return std::pair<stage_index, std::size_t>{plan.instances[channel.producer].address.stage, channel.output_port};
  };
  for (const wired_sink& sink : plan.sinks) on_host.emplace(sink.stage, sink.output_port);
  for (std::size_t number = 0; number < channels.size(); ++number) {
    if (!channels[number]) on_host.insert(output_of(number));
  }
  for (std::size_t number = 0; number < channels.size(); ++number) {
    if (on_host.contains(output_of(number))) channels[number] = false;
  }
}

expected<std::shared_ptr<device_context>> context_of(c10::Device device) {
  if (device.is_cuda()) {
    return cuda_driver::load().and_then(
        [&](const cuda_driver& driver) { return cuda_context_of(driver, device.index()); });
  }
  if (const extension_device made = get_extension_device(); made.context) return made.context(device.index());
  return fail(error_code::device_unavailable, device.str(), "edges have no way to its memory", "use --transport shm");
}

expected<nccl::functions> collectives_of(c10::Device device) {
  if (device.is_cuda()) return nccl_library::load().map(&nccl_library::functions);
  if (const extension_device made = get_extension_device(); made.collectives) return *made.collectives;
  return fail(error_code::device_unavailable, device.str(), "it has no library of NCCL's shape",
              "use --transport auto or shm");
}

}  // namespace

std::string asked_device(const topology& what, const wiring_plan& plan, stage_index node) {
  const auto found = what.parts().contents.find(plan.nodes[node].name);
  if (found == what.parts().contents.end()) return "cpu";  // a source
  if (const auto* stage = std::get_if<stage_node>(&found->second)) return stage->options.device;
  const auto* part = std::get_if<cut_node>(&found->second);
  return part == nullptr ? "cpu" : what.parts().pipelines.at(part->pipeline).options.device;
}

bool records_graphs(const topology& what, const wiring_plan& plan, stage_index node) {
  const auto found = what.parts().contents.find(plan.nodes[node].name);
  if (found == what.parts().contents.end()) return false;
  if (const auto* stage = std::get_if<stage_node>(&found->second)) return stage->options.cuda_graphs;
  const auto* part = std::get_if<cut_node>(&found->second);
  return part != nullptr && what.parts().pipelines.at(part->pipeline).options.cuda_graphs;
}

void load_kernels(const topology& what) {
  const auto is_cuda = [](const std::string& text) {
    const auto asked = parse_device(text, "device");
    return asked && asked->kind == device_kind::cuda;
  };
  const bool in_models = std::ranges::any_of(what.parts().pipelines,
                                             [&](const auto& each) { return is_cuda(each.second.options.device); });
  const bool in_stages = std::ranges::any_of(what.parts().contents, [&](const auto& each) {
    const auto* stage = std::get_if<stage_node>(&each.second);
    return stage != nullptr && is_cuda(stage->options.device);
  });
  if (in_models || in_stages) static_cast<void>(load_torch_cuda());
}

expected<c10::Device> device_of(const topology& what, const wiring_plan& plan, stage_address at) {
  const std::string text = asked_device(what, plan, at.stage);
  const std::string& name = plan.nodes[at.stage].name;
  return parse_device(text, "stage '" + name + "', device").and_then([&](const device_name& asked) {
    return torch_device(asked, "'" + name + "'", place_among(what, plan, at, text));
  });
}

std::optional<c10::Device> only_device(const topology& what, const wiring_plan& plan) {
  std::optional<c10::Device> only;
  for (const wired_instance& each : plan.instances) {
    if (!is_on_device(what, plan, each.address.stage)) continue;
    const auto found = device_of(what, plan, each.address);
    if (!found || (only && *only != *found)) return std::nullopt;
    only = *found;
  }
  return only;
}

device_layout device_layout::of(const run_options& options) {
  device_layout made{.are_apart = options.workers.enabled || spans_nodes()};
  if (options.workers.transport == transport_kind::nccl) made.reach = device_reach::everywhere;
  if (options.workers.transport == transport_kind::automatic && !spans_nodes()) made.reach = device_reach::host;
  return made;
}

expected<std::vector<bool>> device_channels(const topology& what, const wiring_plan& plan, device_layout layout) {
  std::vector<bool> made(plan.channels.size(), false);
  if (layout.reach == device_reach::nowhere) return made;
  std::map<std::size_t, c10::Device> devices;
  const auto find_device = [&](std::size_t instance) -> expected<c10::Device> {
    if (const auto known = devices.find(instance); known != devices.end()) return known->second;
    return device_of(what, plan, plan.instances[instance].address).map([&](c10::Device found) {
      return devices.emplace(instance, found).first->second;
    });
  };
  for (std::size_t number = 0; number < made.size(); ++number) {
    const wired_channel& channel = plan.channels[number];
    if (!joins_devices(what, plan, channel, layout)) continue;
    const auto one = find_device(channel.producer);
    const auto other = find_device(channel.consumer);
    if (!one || !other) return tl::make_unexpected(one ? other.error() : one.error());
    const auto fits = TROUPE_TRY(can_connect(*one, *other, layout.reach));
    made[number] = fits;
  }
  keep_whole_outputs(plan, made);
  return made;
}

std::vector<output_way> ways_of(const topology& what, const wiring_plan& plan, stage_index node, device_layout layout,
                                const std::vector<bool>& channels) {
  const bool alone = is_alone(what, plan, node, layout);
  std::vector<output_way> ways(plan.nodes[node].outputs.size(), alone ? output_way::leaves : output_way::stays);
  for (std::size_t number = 0; number < plan.channels.size(); ++number) {
    const wired_channel& channel = plan.channels[number];
    if (plan.instances[channel.producer].address.stage != node) continue;
    const stage_index to = plan.instances[channel.consumer].address.stage;
    output_way& way = ways[channel.output_port];
    if (channels[number]) {
      way = layout.reach == device_reach::host ? output_way::lent : output_way::laid_out;
    } else if (!is_on_device(what, plan, to) || is_alone(what, plan, to, layout)) {
      way = output_way::leaves;
    }
  }
  for (const wired_sink& sink : plan.sinks) {
    if (sink.stage == node) ways[sink.output_port] = output_way::leaves;
  }
  return ways;
}

bool may_join_devices(const topology& what, const wiring_plan& plan, device_layout layout) {
  return layout.reach != device_reach::nowhere && std::ranges::any_of(plan.channels, [&](const wired_channel& each) {
           return joins_devices(what, plan, each, layout);
         });
}

std::string edge_row_name(const topology& what, const wiring_plan& plan, const run_options& options) {
  const device_layout layout = device_layout::of(options);
  const bool is_within_reach = layout.reach == device_reach::host && may_join_devices(what, plan, layout);
  return is_within_reach ? "cuda_ipc" : transport_name(options.workers.transport);
}

device_tools tools_to_offer(const topology& what, const wiring_plan& plan, const run_options& options) {
  if (!may_join_devices(what, plan, device_layout::of(options))) return {};
  const auto none = [] {
    return fail(error_code::device_unavailable, "driver", "it has no end of an edge between devices");
  };
  return {.nccl = none, .ipc = none};
}

device_tools tools_of(c10::Device device) {
  const auto codec = std::make_shared<const device_tensor_codec>(device);
  return {.nccl =
              [device, codec] {
                return context_of(device).and_then([&](std::shared_ptr<device_context>&& context) {
                  return collectives_of(device).map([&](const nccl::functions& library) {
                    return std::make_shared<const nccl_tools>(
                        nccl_tools{.library = library, .device = std::move(context), .codec = codec});
                  });
                });
              },
          .ipc =
              [device, codec] {
                return context_of(device).and_then([&](std::shared_ptr<device_context>&& context) {
                  return context->sharing().map([&](std::shared_ptr<device_sharing>&& sharing) {
                    return std::make_shared<const ipc_tools>(
                        ipc_tools{.device = std::move(context), .sharing = std::move(sharing), .codec = codec});
                  });
                });
              }};
}

}  // namespace troupe
