#include "program/start/stage_bodies.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
#include "program/run/trained_parts.hpp"
#include "program/topology/stage_devices.hpp"
#include "runtime/report/text_table.hpp"
#include "runtime/stage/casting_body.hpp"
#include "runtime/stage/cuda_graph_body.hpp"
#include "runtime/stage/device_body.hpp"
#include "runtime/stage/function_body.hpp"
#include "runtime/stage/route_body.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_graphs.hpp"
#include "runtime/training/autograd_body.hpp"
#include "runtime/training/shared_layers.hpp"

namespace troupe {

cut_request stage_bodies::request_of(const cut_pipeline& pipeline) const {
  return {.stages = pipeline.options.stages,
          .threads = pipeline.options.threads.value_or(threads_),
          .optimize = pipeline.options.optimize,
          .partition = pipeline.options.partition,
          .is_for_device = pipeline.options.device != "cpu",
          .allow_random = pipeline.options.allow_random,
          .trains = pipeline.options.training != nullptr,
          .cut_cost_seconds_per_byte = cut_cost_of(run_.options.workers, run_.process->spans_nodes)};
}

expected<std::shared_ptr<stage_body>> stage_bodies::make(stage_address at) const {
  const auto device = TROUPE_TRY(device_of(run_, at));
  auto body = make_on(device, at);
  if (!body) return body;
  if (device.is_cpu()) return check_no_graphs(at.stage).map([&] { return std::move(*body); });
  const auto channels = TROUPE_TRY(device_channels(run_));
  const std::vector<output_way> ways = ways_of(run_, at.stage, channels);
  if (run_.roles[at.stage].records_graphs) {
    auto recorder = TROUPE_TRY(kernel_recorder_of(device));
    body =
        std::make_shared<cuda_graph_body>(run_.plan.nodes[at.stage].name, std::move(*body), std::move(recorder), ways);
  }
  auto made = TROUPE_TRY(device_body::make(std::move(*body), device, ways));
  return std::shared_ptr<stage_body>{std::move(made)};
}

expected<void> stage_bodies::check_no_graphs(stage_index node) const {
  if (!run_.roles[node].records_graphs) return {};
  return fail(error_code::flags_contradict, "stage '" + run_.plan.nodes[node].name + "', cuda_graphs",
              "it computes on the CPU, which has no graphs", "give it a device, or leave cuda_graphs out");
}

expected<std::shared_ptr<stage_body>> stage_bodies::make_on(c10::Device device, stage_address at) const {
  const wired_node& node = run_.plan.nodes[at.stage];
  const node_content& content = run_.parts().contents.at(node.name);
  if (const auto* stage = std::get_if<stage_node>(&content)) return make_function(*stage, at, device);
  if (const auto* route = std::get_if<route_node>(&content)) {
    return std::make_shared<route_body>(node.name, route->cases);
  }
  if (std::holds_alternative<join_node>(content)) return std::make_shared<join_body>(node.name);
  return make_part(std::get<cut_node>(content), at, device);
}

expected<std::shared_ptr<stage_body>> stage_bodies::make_part(const cut_node& part, stage_address at,
                                                              c10::Device device) const {
  auto body = cuts_.at(part.pipeline).make_body(part.part, at.stage, device);
  const auto dtype = run_.parts().pipelines.at(part.pipeline).options.dtype;
  if (!body || !dtype || part.part > 0) return body;
  return std::make_shared<casting_body>(std::move(*body), *dtype);
}

expected<std::shared_ptr<stage_body>> stage_bodies::make_function(const stage_node& stage, stage_address at,
                                                                  c10::Device device) const {
  const wired_node& node = run_.plan.nodes[at.stage];
  function_body_options options{.context = {.name = node.name,
                                            .replica = at.replica,
                                            .replicas = node.replicas,
                                            .threads = stage.options.threads.value_or(threads_),
                                            .dtype = stage.options.dtype,
                                            .device = device},
                                .inputs = node.inputs,
                                .outputs = node.outputs};
  std::shared_ptr<stage_function> made;
  try {
    made = stage.recipe.factory()(options.context);
  } catch (...) {
    return fail(error_code::forward_failed, node.name, "its factory threw: " + current_exception_text(),
                "check the factory outside the pipeline");
  }
  if (made == nullptr)
    return fail(error_code::forward_failed, node.name, "its factory returned nothing", "return an object");
  return std::make_shared<function_body>(std::move(made), std::move(options));
}

namespace {

training_loss loss_of(const training_loss_options& asked, const sink_options& sink) {
  return {.kind = asked.kind,
          .ignore_index = asked.ignore_index,
          .label_smoothing = asked.label_smoothing,
          .class_weights = asked.class_weights,
          .function = asked.function,
          .names = {sink.tensor, sink.label}};
}

}  // namespace

std::vector<tied_stages> stage_bodies::ties_of(const std::string& pipeline) const {
  if (!run_.plan.trains) return {};
  const cut_model& cut = cuts_.at(pipeline);
  const cut_pipeline& asked = run_.parts().pipelines.at(pipeline);
  const auto graph = trained_graph_of(asked, *cut.model);
  return tied_parts(graph ? shared_layers_of(*graph) : shared_layers_of(*asked.model.layers()), cut.places.boundaries);
}

expected<engine_body> stage_bodies::make_for_engine(stage_address at, const std::shared_ptr<shared_memory>& state,
                                                    bool protects) const {
  const cut_node* part = run_.part_at(at.stage);
  if (!run_.plan.trains || part == nullptr) return make(at);
  return make_trained(*part, at, state, protects);
}

expected<std::unique_ptr<trained_part>> stage_bodies::make_trained(const cut_node& part) const {
  const cut_pipeline& pipeline = run_.parts().pipelines.at(part.pipeline);
  const cut_model& cut = cuts_.at(part.pipeline);
  const part_boundaries& boundaries = cut.places.boundaries;
  return make_trained_part(pipeline, trained_graph_of(pipeline, *cut.model), boundaries[part.part],
                           boundaries[part.part + 1], cut.model->absent_inputs());
}

expected<std::vector<std::string>> stage_bodies::check_trained(const cut_node& part) const {
  const cut_pipeline& pipeline = run_.parts().pipelines.at(part.pipeline);
  const auto graph = trained_graph_of(pipeline, *cuts_.at(part.pipeline).model);
  if (!pipeline.options.training || !graph) return std::vector<std::string>();
  const auto made = TROUPE_TRY(make_trained(part));
  TROUPE_TRY(layout_of(*made, pipeline.options.training->optimizer));
  return part.part == 0 ? training_warnings(pipeline, graph) : std::vector<std::string>();
}

expected<std::shared_ptr<training_body>> stage_bodies::make_trained(const cut_node& part, stage_address at,
                                                                    const std::shared_ptr<shared_memory>& state,
                                                                    bool protects) const {
  const cut_pipeline& pipeline = run_.parts().pipelines.at(part.pipeline);
  const training_options& training = *pipeline.options.training;
  auto made = TROUPE_TRY(make_trained(part));
  training_body_options options{.stage = at.stage,
                                .replicas = run_.plan.nodes[at.stage].replicas,
                                .threads = pipeline.options.threads.value_or(threads_),
                                .optimizer = training.optimizer,
                                .seed = training.seed,
                                .recompute_interval = training.recompute_interval,
                                .loss = loss_of(*training.loss, run_.parts().sinks.front().options)};
  if (!state) return std::shared_ptr<training_body>(TROUPE_TRY(make_training_body(std::move(made), options)));
  const auto layout = TROUPE_TRY(layout_of(*made, training.optimizer));
  // A body before has made it so large, or the driver, and has left a state there, unless it was lost.
  const bool has_state = layout.bytes() > parameter_layout::page && TROUPE_TRY(state->size()) >= layout.bytes();
  TROUPE_TRY(state->grow(layout.bytes()));
  auto mapped = std::make_shared<memory_mapping>(TROUPE_TRY(state->map(0, layout.bytes())));
  options.memory = mapped->bytes();
  options.is_adopted = has_state || trained_parameters::holds_state(options.memory);
  options.is_protected = protects;
  std::shared_ptr<training_body> body = TROUPE_TRY(make_training_body(std::move(made), options));
  struct kept {
    std::shared_ptr<memory_mapping> memory;
    std::shared_ptr<training_body> body;  // goes first
  };
  auto both = std::make_shared<kept>(kept{std::move(mapped), std::move(body)});
  return std::shared_ptr<training_body>(both, both->body.get());
}

cut_report report_of(const cut_model& model, std::string name) {
  cut_report made{.name = std::move(name), .boundaries = {}, .layers = {}, .warm_up = {}};
  made.cut_by = model.places.cut_by;
  made.bits_depend_on = model.places.bits_depend_on;
  made.boundaries.assign(model.places.boundaries.begin(), model.places.boundaries.end());
  made.inputs = model.places.inputs;
  made.runs_plain = model.places.choice.runs_plain;
  for (std::size_t part = 0; part < model.places.warm_up.size(); ++part) {
    const graph_values& input = model.places.warm_up[part];
    made.layers.push_back(model.layer_names(part));
    made.warm_up.push_back(input.empty() ? nullptr : std::make_shared<const tensor_set>(input));
  }
  return made;
}

cut_places places_of(const cut_report& cut) {
  cut_places found{.boundaries = {cut.boundaries.begin(), cut.boundaries.end()}, .warm_up = {}, .activation_bytes = 0};
  found.inputs = cut.inputs;
  found.choice.runs_plain = cut.runs_plain;
  for (const payload_ptr& each : cut.warm_up)
    found.warm_up.push_back(each ? as_tensors(each).tensors() : graph_values());
  return found;
}

assignment_data assignment_of(const cut_report& cut, std::uint32_t threads, std::size_t part) {
  return {.threads = threads,
          .boundaries = cut.boundaries,
          .runs_plain = cut.runs_plain,
          .inputs = cut.inputs,
          .ties = cut.ties,
          .warm_up = cut.warm_up[part],
          .layers = listed(cut.layers[part])};
}

}  // namespace troupe
