#include "runtime/model/cast_weights.hpp"

#include <torch/csrc/jit/ir/constants.h>

#include "runtime/graph/replace_weights.hpp"
#include "runtime/model/code_layers.hpp"

namespace troupe {
namespace {

/// Quantized tensors, and objects with packed weights: their integers have no other type.
bool is_quantized(torch::jit::Block& block) {
  for (torch::jit::Node* node : block.nodes()) {
    for (torch::jit::Block* inner : node->blocks()) {
      if (is_quantized(*inner)) return true;
    }
    const auto value = node->kind() == c10::prim::Constant ? torch::jit::toIValue(node->output()) : std::nullopt;
    if (!value) continue;
    if (value->isCustomClass() && !is_code_layer(*value)) return true;
    if (value->isTensor() && value->toTensor().defined() && value->toTensor().is_quantized()) return true;
  }
  return false;
}

}  // namespace

expected<operator_graph> cast_weights(const operator_graph& model, c10::ScalarType type) {
  if (is_quantized(*model.graph->block())) {
    return fail(error_code::flags_contradict, "dtype", model.file + ": it is quantized, and its weights cannot be cast",
                "leave the dtype out");
  }
  return replace_weights(model, [type](const graph_weight& weight) {
    return weight.tensor.is_floating_point() ? weight.tensor.to(type) : weight.tensor;
  });
}

}  // namespace troupe
