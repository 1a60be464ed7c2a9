#pragma once

#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "runtime/graph/operator_graph.hpp"
#include <troupe/error.hpp>
#include <troupe/layer_spec.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// Builds layers of C++ code and makes a graph of them: each is one operator, troupe::code_layer(Tensor x, layer),
/// which calls its forward with the output of the one before it. Weights are called "INDEX.NAME": "3.weight". The first
/// gets a copy of the input, as a layer may write it. Cast, if that is asked for. `name` stands for the file. Errors:
/// build_layers(); E0504 for a layer that cannot be cast.
expected<operator_graph> graph_of_layers(const std::vector<layer_spec>& specs, std::string name,
                                         std::optional<c10::ScalarType> dtype);

/// Whether a constant of a graph is such a layer.
bool is_code_layer(const c10::IValue& value);

/// Moves the layers of a graph of them, or of a part of one, in place: all that share their weights see them move.
/// E0504 for layers that cannot be moved, or were moved to another device. Graphs without such layers stay as they are.
expected<void> move_code_layers(torch::jit::Graph& graph, c10::Device device);

bool has_code_layers(const operator_graph& model);
/// Writes these values into the weights of the layers of a graph, in their types; a tied weight gets that of its first
/// name. Weights without a value stay as they are. E0218 for other sizes.
expected<void> write_code_layers(const operator_graph& model, const state_dict& values);
/// Trainable parameters of the layer that a step is; nothing for another operator.
std::optional<std::uint64_t> trainable_of_code_layer(const torch::jit::Node& step);

}  // namespace troupe
