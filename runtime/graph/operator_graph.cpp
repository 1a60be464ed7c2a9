#include "runtime/graph/operator_graph.hpp"

#include <torch/csrc/jit/ir/constants.h>

namespace troupe {

std::vector<torch::jit::Node*> steps_of(torch::jit::Graph& graph) {
  std::vector<torch::jit::Node*> steps;
  for (torch::jit::Node* node : graph.nodes()) {
    if (node->kind() != c10::prim::Constant) steps.push_back(node);
  }
  return steps;
}

std::optional<std::int64_t> fixed_batch(const graph_input& input) {
  if (!input.sizes || input.sizes->empty()) return std::nullopt;
  const size_range batch = input.sizes->front();
  return batch.min == batch.max ? std::optional(batch.min) : std::nullopt;
}

bool can_pass(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
      return true;
    case c10::TypeKind::ListType:
      return type->containedType(0)->kind() == c10::TypeKind::IntType;
    default:
      return false;
  }
}

void each_constant(const torch::jit::Node& node, const std::function<void(const at::Tensor&)>& see) {
  for (const torch::jit::Value* input : node.inputs()) {
    if (input->node()->kind() != c10::prim::Constant) continue;
    const auto value = torch::jit::toIValue(input);
    if (value && value->isTensor() && value->toTensor().defined()) see(value->toTensor());
    if (!value || !value->isTensorList()) continue;
    for (const at::Tensor& each : value->toTensorList()) see(each);
  }
  for (const torch::jit::Block* block : node.blocks()) {
    for (const torch::jit::Node* inner : block->nodes()) each_constant(*inner, see);
  }
}

std::string place_in_source(const torch::jit::Node& node) {
  torch::jit::SourceRange range = node.sourceRange();
  if (auto original = range.findSourceRangeThatGenerated()) range = *original;
  const auto place = range.file_line_col();
  return place ? " (" + std::get<0>(*place) + ":" + std::to_string(std::get<1>(*place)) + ")" : std::string();
}

}  // namespace troupe
