#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <c10/core/Device.h>
#include <torch/csrc/jit/ir/ir.h>

#include "runtime/graph/live_values.hpp"
#include "runtime/graph/operator_graph.hpp"

namespace troupe {

/// The steps [begin, end) of a model as a graph of their own. Its inputs are what crosses place `begin`, its outputs
/// what crosses place `end`, or the inputs and outputs of the model. It shares the model's constants, but for those
/// that have to go to another device.
struct graph_part {
  std::shared_ptr<torch::jit::Graph> graph;
  /// See operator_graph; then it is the first input.
  std::optional<c10::IValue> state = std::nullopt;
};

/// No live_values::objection() stands against `begin` and `end`. Tensors and devices among the constants are moved to
/// `device`, if that is not the CPU.
graph_part make_part(const operator_graph& model, const live_values& live, std::size_t begin, std::size_t end,
                     c10::Device device = c10::DeviceType::CPU);

}  // namespace troupe
