#include "program/engine_topology.hpp"

#include <utility>

#include "program/topology/eval_topology.hpp"
#include "runtime/data/cast_names.hpp"

namespace troupe {

topology topology_of(model_source model, const pipeline_engine_options& options) {
  topology made;
  made.source("loader", data_set_ptr())
      .pipeline("stage", std::move(model),
                {.stages = options.stages.value_or(1),
                 .replicas = options.replicas.value_or(1),
                 .partition = options.partition.value_or(cut_options{}.partition),
                 .layers = options.layers,
                 .optimize = options.optimize,
                 .num_pipe_buffers = options.num_pipe_buffers,
                 .dtype = options.dtype,
                 .device = options.device,
                 .cuda_graphs = options.cuda_graphs,
                 .allow_effects = options.allow_effects,
                 .allow_random = options.allow_random,
                 .training = options.training,
                 .training_from = options.training_from})
      .sink("metrics", options.metrics, options.score);
  for (const eval_sink& each : options.sinks) made.sink(each.name, each.metrics, each.options);
  return made;
}

eval_options config_for(const topology& what, const pipeline_engine_options& options, std::string model) {
  eval_options config = config_of(what, options.run);
  config.model = std::move(model);
  config.stages = options.stages.value_or(config.stages);
  config.replicas = options.replicas.value_or(config.replicas);
  config.optimize = options.optimize;
  config.layers = options.layers;
  config.partition = options.partition.value_or(config.partition);
  config.num_pipe_buffers = options.num_pipe_buffers;
  config.device = options.device;
  config.cuda_graphs = options.cuda_graphs;
  config.allow_random = options.allow_random;
  config.score_output = options.score.tensor;
  config.score_label = options.score.label;
  const interval_options& intervals = options.score.intervals;
  if (intervals.confidence != 0) config.confidence = intervals.confidence;
  config.bootstrap_resamples = intervals.resamples;
  config.bootstrap_seed = intervals.seed;
  if (options.dtype) config.dtype = cast_name_of(*options.dtype);
  return config;
}

}  // namespace troupe
