#include "program/topology/stage_devices.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
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
std::uint32_t place_among(const checked_run& run, stage_address at, const std::string& asked) {
  std::uint32_t before = 0;
  for (const wired_instance& each : run.plan.instances) {
    if (each.address == at) break;
    if (run.roles[each.address.stage].device == asked) ++before;
  }
  return before;
}

bool is_on_device(const checked_run& run, stage_index node) {
  return run.roles[node].device != "cpu";
}

bool is_alone(const checked_run& run, stage_index node) {
  return run.layout.are_apart || run.parts().in_processes.contains(run.plan.nodes[node].name);
}

/// Both ends compute on devices, each in a process of its own.
bool joins_devices(const checked_run& run, const wired_channel& channel) {
  const auto may_be_end = [&](std::size_t instance) {
    const stage_index node = run.plan.instances[instance].address.stage;
    return is_on_device(run, node) && is_alone(run, node);
  };
  return may_be_end(channel.producer) && may_be_end(channel.consumer);
}

expected<bool> can_connect(const checked_run& run, c10::Device one, c10::Device other) {
  const device_reach reach = run.layout.reach;
  if (one.type() != other.type()) return false;
  if (!one.is_cuda()) {
    const extension_device made = get_extension_device();
    return made.context != nullptr && (reach == device_reach::host || made.collectives.has_value());
  }
  if (reach == device_reach::everywhere) {
    // NCCL takes processes with another NCCL_HOSTID for those of another machine.
    if (one != other || run.process->spans_nodes || std::getenv("NCCL_HOSTID") != nullptr) return true;
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

void load_kernels(const checked_run& run) {
  const bool has_cuda = std::ranges::any_of(run.roles, [](const node_role& each) {
    const auto asked = parse_device(each.device, "device");
    return asked && asked->kind == device_kind::cuda;
  });
  if (has_cuda) static_cast<void>(load_torch_cuda());
}

expected<c10::Device> device_of(const checked_run& run, stage_address at) {
  const std::string& text = run.roles[at.stage].device;
  const std::string& name = run.plan.nodes[at.stage].name;
  return parse_device(text, "stage '" + name + "', device").and_then([&](const device_name& asked) {
    return torch_device(asked, "'" + name + "'", place_among(run, at, text));
  });
}

std::optional<c10::Device> only_device(const checked_run& run) {
  std::optional<c10::Device> only;
  for (const wired_instance& each : run.plan.instances) {
    if (!is_on_device(run, each.address.stage)) continue;
    const auto found = device_of(run, each.address);
    if (!found || (only && *only != *found)) return std::nullopt;
    only = *found;
  }
  return only;
}

expected<std::vector<bool>> device_channels(const checked_run& run) {
  std::vector<bool> made(run.plan.channels.size(), false);
  if (run.layout.reach == device_reach::nowhere) return made;
  std::map<std::size_t, c10::Device> devices;
  const auto find_device = [&](std::size_t instance) -> expected<c10::Device> {
    if (const auto known = devices.find(instance); known != devices.end()) return known->second;
    return device_of(run, run.plan.instances[instance].address).map([&](c10::Device found) {
      return devices.emplace(instance, found).first->second;
    });
  };
  for (std::size_t number = 0; number < made.size(); ++number) {
    const wired_channel& channel = run.plan.channels[number];
    if (!joins_devices(run, channel)) continue;
    const auto one = find_device(channel.producer);
    const auto other = find_device(channel.consumer);
    if (!one || !other) return tl::make_unexpected(one ? other.error() : one.error());
    made[number] = TROUPE_TRY(can_connect(run, *one, *other));
  }
  keep_whole_outputs(run.plan, made);
  return made;
}

std::vector<output_way> ways_of(const checked_run& run, stage_index node, const std::vector<bool>& channels) {
  const bool alone = is_alone(run, node);
  std::vector<output_way> ways(run.plan.nodes[node].outputs.size(), alone ? output_way::leaves : output_way::stays);
  for (std::size_t number = 0; number < run.plan.channels.size(); ++number) {
    const wired_channel& channel = run.plan.channels[number];
    if (run.plan.instances[channel.producer].address.stage != node) continue;
    const stage_index to = run.plan.instances[channel.consumer].address.stage;
    output_way& way = ways[channel.output_port];
    if (channels[number]) {
      way = run.layout.reach == device_reach::host ? output_way::lent : output_way::laid_out;
    } else if (!is_on_device(run, to) || is_alone(run, to)) {
      way = output_way::leaves;
    }
  }
  for (const wired_sink& sink : run.plan.sinks) {
    if (sink.stage == node) ways[sink.output_port] = output_way::leaves;
  }
  return ways;
}

bool may_join_devices(const checked_run& run) {
  return run.layout.reach != device_reach::nowhere &&
         std::ranges::any_of(run.plan.channels, [&](const wired_channel& each) { return joins_devices(run, each); });
}

std::string edge_row_name(const checked_run& run) {
  const bool is_within_reach = run.layout.reach == device_reach::host && may_join_devices(run);
  return is_within_reach ? "cuda_ipc" : transport_name(run.options.workers.transport);
}

device_tools tools_to_offer(const checked_run& run) {
  if (!may_join_devices(run)) return {};
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
