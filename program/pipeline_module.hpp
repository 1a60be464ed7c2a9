#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/model_pipeline.hpp"
#include "runtime/metric/loss_function.hpp"
#include "runtime/model/layer_spec.hpp"
#include "runtime/topology/process_topology.hpp"

namespace troupe {

/// DeepSpeed's PipelineModule: layers in order, their partition and the loss. pipeline_engine::create() starts it;
/// docs/pipeline_engine.md lists the differences.
struct pipeline_module {
  std::vector<layer_spec> layers;
  std::uint32_t num_stages = 1;
  /// Replaces num_stages: axis "pipe" has the stages, axis "data" the replicas; any other axis must have one rank.
  std::optional<process_topology> topology = std::nullopt;
  /// May be empty if no call computes a loss.
  loss_function loss_fn = nullptr;
  /// uniform | parameters | type:REGEX | boundaries "0,2,5".
  std::string partition_method = "parameters";
};

struct module_pipeline_options {
  /// Where the module has no topology.
  std::uint32_t replicas = 1;
  std::uint32_t threads = 1;
  std::uint32_t num_pipe_buffers = limits::pipe_buffers_default;
};

/// Stages and replicas of the module: from its topology, or num_stages and `replicas`. E0504 for an axis that is
/// neither "pipe" nor "data" and has more than one rank.
struct module_shape {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
};
expected<module_shape> shape_of(const pipeline_module& module, std::uint32_t replicas);

/// Builds all layers once (replicas share them), cuts them, tries them on `sample` if it is defined, and starts.
/// Errors: those of build_layers, shape_of and partition_layers; E0504 no layer; E0104 partition by profile; E0602
/// naming the layer that does not accept the sample.
expected<model_pipeline> start_module_pipeline(const pipeline_module& module, const module_pipeline_options& options,
                                               const at::Tensor& sample);

}  // namespace troupe
