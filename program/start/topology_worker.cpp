#include "program/start/topology_worker.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "actors/workers/worker_actor.hpp"
#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
#include "program/models/own_thread.hpp"
#include "program/models/spare_models.hpp"
#include "program/start/sinks.hpp"
#include "program/start/stage_bodies.hpp"
#include "program/topology/stage_devices.hpp"
#include "runtime/fault/fault_shape.hpp"
#include "runtime/join/network_text.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/metric/packed_score.hpp"
#include "runtime/model/first_use.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/training/step_scorer.hpp"

namespace troupe {
namespace {

/// Shared by the callables of one worker.
struct worker_state {
  worker_state(checked_run given, loss_function calls_loss) : run(std::move(given)), loss(std::move(calls_loss)) {}
  checked_run run;
  loss_function loss;
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

/// Where the assignment cuts the pipeline.
cut_places places_of(const worker_assignment& to, const cut_request& request, std::uint32_t part,
                     const payload_ptr& warm_up) {
  cut_places places{.boundaries = {to.boundaries.begin(), to.boundaries.end()}, .warm_up = {}, .activation_bytes = 0};
  places.warm_up.resize(request.stages);
  places.warm_up.at(part) = warm_up_of(warm_up, to.incarnation > 0);
  places.inputs = to.inputs;
  places.choice.runs_plain = to.runs_plain == 1;
  return places;
}

/// The pipeline's model with the weights of one part, or, where its rewritten form needs others, with all of them.
expected<cut_model> open_part(const cut_pipeline& asked, const cut_node& part, const cut_request& request,
                              const cut_places& places) {
  if (part.part + 1 >= places.boundaries.size() || places.boundaries[part.part] > places.boundaries[part.part + 1]) {
    return fail(error_code::wire_malformed, "worker_assignment.boundaries", "they are not those of the pipeline");
  }
  const kept_layers kept{.inputs = {places.inputs.begin(), places.inputs.end()},
                         .begin = places.boundaries[part.part],
                         .end = places.boundaries[part.part + 1]};
  auto made = TROUPE_TRY(cut_at(TROUPE_TRY(asked.model.open(asked.options, part.pipeline, &kept)), request, places));
  if (!made.model->lacks_weights(kept.begin, kept.end)) return made;
  return cut_at(TROUPE_TRY(asked.model.open(asked.options, part.pipeline)), request, places);
}

/// The body that an assignment speaks of: what start_topology() makes in one process. With the model that the worker
/// has loaded as a spare, if it has it.
expected<engine_body> make_assigned_body(const checked_run& run, const worker_assignment& to,
                                         const assigned_memory& given, spare_models& spare) {
  stage_bodies bodies(run, to.threads);
  const cut_node* part = run.part_at(to.address.stage);
  // A worker with a stage keeps no model that it does not need.
  auto prepared = spare.take(part == nullptr ? std::string() : part->pipeline);
  if (part == nullptr) return bodies.make_for_engine(to.address, given.state);
  const cut_pipeline& asked = run.parts().pipelines.at(part->pipeline);
  cut_request request = bodies.request_of(asked);
  request.threads = to.threads;
  const cut_places places = places_of(to, request, part->part, given.warm_up);
  bodies.add(part->pipeline, TROUPE_TRY(prepared ? cut_at(std::move(prepared), request, places)
                                                 : open_part(asked, *part, request, places)));
  return bodies.make_for_engine(to.address, given.state);
}

/// In a worker without a stage: the models of all pipelines that come from files.
void prepare_pipelines(const checked_run& run, spare_models& spare) {
  for (const auto& [name, asked] : run.parts().pipelines) {
    const auto files = asked.model.files();
    if (files.empty()) continue;
    spare.prepare(name, files, [&, name = name, asked = &asked]() -> expected<layered_model_ptr> {
      auto model = asked->model.open(asked->options, name);
      if (model && asked->options.optimize != optimize_mode::none) (*model)->optimize(asked->options.device != "cpu");
      return model;
    });
  }
}

expected<engine_body> become(worker_state& state, const worker_assignment& to, const assigned_memory& given) {
  auto body = TROUPE_TRY(make_assigned_body(state.run, to, given, state.spare));
  return_freed_memory();  // the rest of the model
  return device_of(state.run, to.address).map([&](c10::Device device) {
    state.device = device;
    return std::move(body);
  });
}

expected<std::shared_ptr<scorer>> make_metric_scorer(const checked_run& run, std::uint32_t sink, const scoring& asked) {
  const scored_sink& place = run.parts().sinks.at(sink);
  const bool is_named = sink == 0 && asked.metrics;
  auto metrics = TROUPE_TRY(
      make_metrics(is_named ? std::vector<metric_choice>(asked.metrics->begin(), asked.metrics->end()) : place.metrics,
                   asked.classes, place.options.intervals));
  if (auto predictions = TROUPE_TRY(make_predictions(place.options.predictions))) {
    metrics.push_back(std::move(predictions));
  }
  return std::make_shared<metric_scorer>(std::move(metrics), scored_names{place.options.tensor, place.options.label},
                                         limits::score_words_max);
}

expected<std::shared_ptr<scorer>> make_scorer(const worker_state& state, std::uint32_t sink, const scoring& asked) {
  if (asked.content == score_content::metrics) return make_metric_scorer(state.run, sink, asked);
  if (asked.content == score_content::step_loss) return std::make_shared<step_scorer>(sink == 0);
  const loss_request request = request_of(asked.content, sink);
  if (request.compute_loss && !state.loss) {
    return fail(error_code::worker_mismatch, "worker", "this process has no loss function, and its driver has one",
                "give the engine its loss function in every process");
  }
  const sink_options& options = state.run.parts().sinks.at(sink).options;
  return std::make_shared<packing_scorer>(state.loss, request, scored_names{options.tensor, options.label});
}

}  // namespace

worker_description describe_worker(checked_run run, loss_function loss, std::shared_ptr<const node_network> network) {
  keep_freed_memory();
  load_kernels(run);
  const auto state = std::make_shared<worker_state>(std::move(run), std::move(loss));
  const std::string edges = edge_row_name(state->run);
  const run_options& options = state->run.options;
  return worker_description{
      .plan = state->run.plan,
      .fingerprint = [state] { return state->run.fingerprint(); },
      .codec = std::make_shared<tensor_codec>(),
      .edges = network ? &between_nodes(edges) : &between_processes(edges),
      .devices = may_join_devices(state->run) ? tools_later(state) : device_tools{},
      .network = std::move(network),
      .payload_crc = corrupts_edges(options.faults) ? true : options.workers.checksums,
      .silence_timeout = options.workers.timeout,
      .prepare =
          [state] {
            yield_to_stages();
            prepare_pipelines(state->run, state->spare);
            if (state->spare.is_spare()) warm_up_libtorch();
            if (!state->spare.is_spare()) return;
            if (const auto device = only_device(state->run)) use_device_once(*device);
          },
      .make_body =
          [state](const worker_assignment& to, const assigned_memory& given) {
            return in_own_thread("topology", "the stage could not be made", [&] { return become(*state, to, given); });
          },
      .make_scorer = [state](std::uint32_t sink, const scoring& asked) { return make_scorer(*state, sink, asked); }};
}

void serve_topology(const topology& what, const run_options& options, const process_context& process,
                    loss_function loss) {
  std::shared_ptr<const node_network> network;
  if (process.worker->network != 0) {
    auto read = read_network(process.worker->network);
    if (!read) end_worker(read.error());
    network = std::make_shared<const node_network>(std::move(*read));
  }
  auto run = checked_run::make(what, options, process);
  if (!run) end_worker(run.error());
  serve_worker(*process.worker, describe_worker(std::move(*run), std::move(loss), std::move(network)));
}

}  // namespace troupe
