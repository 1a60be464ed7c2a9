#include "program/start/topology_worker.hpp"

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "actors/workers/worker_actor.hpp"
#include "messages/try.hpp"
#include "program/launch/process_role.hpp"
#include "program/models/file_stamp.hpp"
#include "program/models/own_thread.hpp"
#include "program/start/topology_start.hpp"
#include "program/topology/stage_devices.hpp"
#include "runtime/fault/fault_shape.hpp"
#include "runtime/join/network_text.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/metric/packed_score.hpp"
#include "runtime/model/first_use.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {
namespace {

std::string stamp_of(const std::string& file) {
  return spans_nodes() ? stamp_by_content(file) : stamp_by_time(file);
}

/// Shared by the callables of one worker.
struct worker_state {
  worker_state(topology given, wiring_plan expanded, loss_function calls_loss, device_layout devices)
      : what(std::move(given)), plan(std::move(expanded)), loss(std::move(calls_loss)), layout(devices) {}
  topology what;
  wiring_plan plan;
  loss_function loss;
  device_layout layout;
  spare_models spare;
  /// The device of the stage that the worker has become; nothing before.
  std::optional<c10::Device> device;
};

/// tools_of() the device that the worker will have.
device_tools tools_later(const std::shared_ptr<worker_state>& state) {
  const auto tools = [state]() -> expected<device_tools> {
    if (state->device && !state->device->is_cpu()) return tools_of(*state->device);
    return fail(error_code::wire_malformed, "wiring_order.offers", "an edge between devices for a stage on none");
  };
  return {.nccl = [tools] { return tools().and_then([](const device_tools& has) { return has.nccl(); }); },
          .ipc = [tools] { return tools().and_then([](const device_tools& has) { return has.ipc(); }); }};
}

expected<std::shared_ptr<stage_body>> become(worker_state& state, const worker_assignment& to,
                                             const payload_ptr& warm_up) {
  auto body = make_assigned_body(state.what, state.plan, state.layout, to, warm_up, state.spare);
  if (!body) return body;
  return device_of(state.what, state.plan, to.address).map([&](c10::Device device) {
    state.device = device;
    return std::move(*body);
  });
}

expected<std::vector<metric_ptr>> make_metrics(const std::vector<metric_choice>& choices, std::uint32_t classes) {
  std::vector<metric_ptr> made;
  for (const metric_choice& choice : choices) {
    auto one = std::holds_alternative<metric_ptr>(choice) ? expected<metric_ptr>{std::get<metric_ptr>(choice)}
                                                          : make_metric(std::get<std::string>(choice), classes);
    if (!one) return tl::make_unexpected(one.error());
    made.push_back(std::move(*one));
  }
  return made;
}

expected<std::shared_ptr<scorer>> make_metric_scorer(const topology& what, std::uint32_t sink, const scoring& asked) {
  const scored_sink& place = what.parts().sinks.at(sink);
  const bool is_named = sink == 0 && asked.metrics;
  auto metrics = TROUPE_TRY(
      make_metrics(is_named ? std::vector<metric_choice>(asked.metrics->begin(), asked.metrics->end()) : place.metrics,
                   asked.classes));
  return std::make_shared<metric_scorer>(std::move(metrics), false, place.options.tensor, place.options.label);
}

expected<std::shared_ptr<scorer>> make_scorer(const worker_state& state, std::uint32_t sink, const scoring& asked) {
  if (asked.content == score_content::metrics) return make_metric_scorer(state.what, sink, asked);
  const loss_request request = request_of(asked.content, sink);
  if (request.compute_loss && !state.loss) {
    return fail(error_code::worker_mismatch, "worker", "this process has no loss function, and its driver has one",
                "give the engine its loss function in every process");
  }
  return std::make_shared<packing_scorer>(state.loss, request);
}

}  // namespace

expected<std::vector<sink_request>> make_sinks(const topology& what, std::uint32_t classes) {
  std::vector<sink_request> made;
  for (const scored_sink& each : what.parts().sinks) {
    auto metrics = TROUPE_TRY(make_metrics(each.metrics, classes));
    made.push_back(
        {.name = each.name, .metrics = std::move(metrics), .tensor = each.options.tensor, .label = each.options.label});
  }
  return made;
}

expected<void> judge_sinks(const topology& what, const wiring_plan& plan,
                           const std::vector<std::vector<activation>>& outputs, std::uint32_t classes) {
  auto sinks = TROUPE_TRY(make_sinks(what, classes));
  for (std::size_t index = 0; index < sinks.size(); ++index) {
    const sink_request& sink = sinks[index];
    const wired_sink& place = plan.sinks[index];
    const activation& part = outputs[place.stage][place.output_port];
    if (part.tensors == nullptr) continue;
    auto fits = metric_scorer(sink.metrics, false, sink.tensor, sink.label).judge(part.tensors, part);
    if (fits) continue;
    error misfit = std::move(fits.error());
    if (sinks.size() > 1) misfit.where = "sink " + sink.name + ", " + misfit.where;
    return tl::make_unexpected(std::move(misfit));
  }
  return {};
}

bool is_open(const topology& what) {
  const auto* data = what.parts().data ? std::get_if<data_set_ptr>(&*what.parts().data) : nullptr;
  return data != nullptr && *data == nullptr;
}

std::string settings_of(const topology& what) {
  std::string text;
  for (const auto& [name, asked] : what.parts().pipelines) {
    const auto* file = std::get_if<std::string>(&asked.model);
    text += fmt::format("{}: {}, {} stages, {} {} {} {}\n", name, file == nullptr ? "in memory" : stamp_of(*file),
                        asked.options.stages, static_cast<int>(asked.options.optimize), asked.options.partition,
                        asked.options.dtype ? c10::toString(*asked.options.dtype) : "as it is", asked.options.device);
  }
  for (const auto& [name, content] : what.parts().contents) {
    if (const auto* stage = std::get_if<stage_node>(&content)) text += name + " on " + stage->options.device + "\n";
  }
  for (const scored_sink& each : what.parts().sinks) {
    text += fmt::format("{}: of {} {}", each.name, each.options.tensor, each.options.label);
    for (const metric_choice& metric : each.metrics) text += ", " + name_of(metric);
    text += "\n";
  }
  return text;
}

expected<worker_description> describe_worker(const topology& what, const run_options& options, loss_function loss,
                                             std::shared_ptr<const node_network> network) {
  TROUPE_TRY(what.check());
  auto plan = TROUPE_TRY(expand(what.parts().graph()));
  keep_freed_memory();
  load_kernels(what);
  const auto state = std::make_shared<worker_state>(what, std::move(plan), std::move(loss), device_layout::of(options));
  const std::string edges = edge_row_name(state->what, state->plan, options);
  return worker_description{
      .plan = state->plan,
      .fingerprint = [state] { return plan_fingerprint(state->plan, settings_of(state->what)); },
      .codec = std::make_shared<tensor_codec>(),
      .edges = network ? &between_nodes(edges) : &between_processes(edges),
      .devices = may_join_devices(state->what, state->plan, state->layout) ? tools_later(state) : device_tools{},
      .network = std::move(network),
      .payload_crc = corrupts_edges(options.faults) ? true : options.workers.checksums,
      .silence_timeout = options.workers.timeout,
      .prepare =
          [state] {
            yield_to_stages();
            prepare_pipelines(state->what, state->spare);
            if (state->spare.is_spare()) warm_up_libtorch();
            if (!state->spare.is_spare()) return;
            if (const auto device = only_device(state->what, state->plan)) use_device_once(*device);
          },
      .make_body =
          [state](const worker_assignment& to, const payload_ptr& warm_up) {
            return in_own_thread("topology", "the stage could not be made",
                                 [&] { return become(*state, to, warm_up); });
          },
      .make_scorer = [state](std::uint32_t sink, const scoring& asked) { return make_scorer(*state, sink, asked); }};
}

void serve_topology(const worker_environment& environment, const topology& what, const run_options& options,
                    loss_function loss) {
  std::shared_ptr<const node_network> network;
  if (environment.network != 0) {
    auto read = read_network(environment.network);
    if (!read) end_worker(read.error());
    network = std::make_shared<const node_network>(std::move(*read));
  }
  auto description = describe_worker(what, options, std::move(loss), std::move(network));
  if (!description) end_worker(description.error());
  serve_worker(environment, std::move(*description));
}

}  // namespace troupe
