#include "program/pipeline_module.hpp"

#include <utility>

#include <ATen/Parallel.h>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/model/layer_stack.hpp"
#include "runtime/partition/partition_layers.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

expected<part_boundaries> find_boundaries(const pipeline_module& module, const std::vector<built_layer>& built,
                                          std::uint32_t stages) {
  auto method = parse_partition_method(module.partition_method);
  if (!method) return tl::make_unexpected(method.error());
  if (needs_profile(*method)) {
    return fail(error_code::flags_contradict, "partition_method",
                "\"profile\" times the layers of TorchScript chains alone",
                "use parameters, uniform, type:REGEX or boundaries");
  }
  std::vector<layer_weight> weights;
  for (std::size_t index = 0; index < built.size(); ++index) {
    weights.push_back({module.layers[index].type(), built[index].trainable, 0});
  }
  return partition_layers(*method, weights, stages);
}

std::vector<layer_stack::named_layer> part_of(const pipeline_module& module, const std::vector<built_layer>& built,
                                              std::size_t begin, std::size_t end) {
  std::vector<layer_stack::named_layer> part;
  for (std::size_t index = begin; index < end; ++index) {
    part.push_back({layer_name(index, module.layers[index]), built[index]});
  }
  return part;
}

expected<void> try_out(const pipeline_module& module, const std::vector<built_layer>& built, const at::Tensor& sample,
                       std::uint32_t threads) {
  if (!sample.defined()) return {};
  layer_stack whole(part_of(module, built, 0, built.size()), "sample", threads);
  whole.on_start();
  activation input;
  input.tensors = make_tensors(sample);
  return whole.forward(input).map([](const auto&) {});
}

expected<model_pipeline> prepare_and_start(const pipeline_module& module, const module_pipeline_options& options,
                                           const at::Tensor& sample) {
  if (module.layers.empty()) {
    return fail(error_code::topology_invalid, "pipeline_module", "there is no layer", "give it layers");
  }
  const auto shape = shape_of(module, options.replicas);
  if (!shape) return tl::make_unexpected(shape.error());
  const auto built = build_layers(module.layers);
  if (!built) return tl::make_unexpected(built.error());
  const auto boundaries = find_boundaries(module, *built, shape->stages);
  if (!boundaries) return tl::make_unexpected(boundaries.error());
  if (auto fine = try_out(module, *built, sample, options.threads); !fine) return tl::make_unexpected(fine.error());

  auto plan = expand(
      make_chain({.stages = shape->stages, .replicas = shape->replicas, .num_pipe_buffers = options.num_pipe_buffers}));
  if (!plan) return tl::make_unexpected(plan.error());
  const body_factory make_body = [&](stage_address at) -> expected<std::shared_ptr<stage_body>> {
    return std::make_shared<layer_stack>(part_of(module, *built, (*boundaries)[at.stage], (*boundaries)[at.stage + 1]),
                                         "stage " + std::to_string(at.stage), options.threads);
  };
  const std::uint64_t bytes = sample.defined() ? sample.nbytes() : 0;
  auto engines = assemble(std::move(*plan), std::make_shared<inproc_edge_factory>(), make_body,
                          {.depths = {.from_loader = prefetch_slots_for(bytes)}});
  if (!engines) return tl::make_unexpected(engines.error());
  model_pipeline made;
  for (std::uint32_t stage = 0; stage < shape->stages; ++stage) {
    auto& names = made.layers.emplace_back();
    for (std::size_t index = (*boundaries)[stage]; index < (*boundaries)[stage + 1]; ++index) {
      names.push_back(std::to_string(index) + " " + module.layers[index].type());
    }
  }
  made.running = pipeline::start(std::move(*engines));
  return made;
}

}  // namespace

expected<module_shape> shape_of(const pipeline_module& module, std::uint32_t replicas) {
  if (!module.topology) return module_shape{module.num_stages, replicas};
  module_shape shape;
  for (const topology_axis& axis : module.topology->axes()) {
    if (axis.name == "pipe") {
      shape.stages = static_cast<std::uint32_t>(axis.size);
    } else if (axis.name == "data") {
      shape.replicas = static_cast<std::uint32_t>(axis.size);
    } else if (axis.size != 1) {
      return fail(error_code::topology_invalid, "pipeline_module",
                  "axis \"" + axis.name + "\" of the topology has " + std::to_string(axis.size) +
                      " ranks, and layers are not cut along it",
                  "use the axes pipe and data");
    }
  }
  return shape;
}

expected<model_pipeline> start_module_pipeline(const pipeline_module& module, const module_pipeline_options& options,
                                               const at::Tensor& sample) {
  return in_starting_thread("pipeline_module", [&] { return prepare_and_start(module, options, sample); });
}

}  // namespace troupe
