#include "program/topology/eval_topology.hpp"

#include <utility>

#include "program/topology/topology_parts.hpp"
#include "runtime/data/cast_names.hpp"

namespace troupe {

std::optional<c10::ScalarType> dtype_of(const eval_options& options) {
  const c10::ScalarType found = cast_type(options.dtype);
  return found == c10::ScalarType::Undefined ? std::nullopt : std::optional(found);
}

model_source model_of(const eval_options& options) {
  if (options.weights.empty() && !options.not_strict) return options.model;
  return model_with_weights{.arch = options.arch,
                            .model = options.weights.empty() ? std::string() : options.model,
                            .weights = model_name(options),
                            .not_strict = options.not_strict};
}

const std::string& model_name(const eval_options& options) {
  return options.weights.empty() ? options.model : options.weights;
}

cut_options cut_options_of(const eval_options& options) {
  return {.stages = options.stages,
          .replicas = options.replicas,
          .partition = options.partition,
          .layers = options.layers,
          .optimize = options.optimize,
          .num_pipe_buffers = options.num_pipe_buffers,
          .dtype = dtype_of(options),
          .device = options.device,
          .cuda_graphs = options.cuda_graphs,
          .allow_effects = options.allow_effects,
          .allow_random = options.allow_random};
}

topology topology_of(const eval_options& options, const eval_objects& objects) {
  std::vector<metric_choice> metrics(options.metrics.begin(), options.metrics.end());
  metrics.insert(metrics.end(), objects.metrics.begin(), objects.metrics.end());
  topology made;
  made.source("loader", objects.data ? data_choice(objects.data) : data_choice(options.data))
      .pipeline("stage", model_of(options), cut_options_of(options));
  // Values beside predictions can be large, and come to the driver as tensors.
  if (options.predictions.with != prediction_extra::none) {
    made.stage("predictions", [](const named_tensors& outputs) { return outputs; }, {.threads = 1, .in_driver = true});
  }
  made.sink("metrics", std::move(metrics),
            {.tensor = options.score_output,
             .label = options.score_label,
             .predictions = options.predictions,
             .intervals = {.confidence = options.confidence.value_or(0),
                           .resamples = options.bootstrap_resamples,
                           .seed = options.bootstrap_seed}});
  for (const eval_sink& each : objects.sinks) made.sink(each.name, each.metrics, each.options);
  return made;
}

eval_options config_of(const topology& what, const run_options& options) {
  eval_options made;
  made.model = "topology";
  made.run = options;
  made.run.log.level = options.log.level.value_or(log_level::warning);
  made.run.workers.enabled = what.parts().has_workers(options);
  return made;
}

}  // namespace troupe
