#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <troupe/layer_spec.hpp>
#include <troupe/metric.hpp>
#include <troupe/process_topology.hpp>

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
  /// See cut_options; "profile" needs a sample.
  std::string partition_method = "parameters";
};

/// Stages and replicas of the module: from its topology, or num_stages and `replicas`. E0504 for an axis that is
/// neither "pipe" nor "data" and has more than one rank.
struct module_shape {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
};
expected<module_shape> shape_of(const pipeline_module& module, std::uint32_t replicas);

}  // namespace troupe
