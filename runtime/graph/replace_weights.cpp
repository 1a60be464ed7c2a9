#include "runtime/graph/replace_weights.hpp"

#include <optional>
#include <unordered_map>

#include <torch/csrc/jit/ir/constants.h>

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using tensor_map = std::unordered_map<const c10::TensorImpl*, at::Tensor>;

/// The value of a constant with other tensors; nothing if it has none of those to replace.
std::optional<c10::IValue> replaced(const c10::IValue& value, const tensor_map& others) {
  const auto find = [&](const at::Tensor& tensor) { return others.find(tensor.unsafeGetTensorImpl()); };
  if (value.isTensor() && value.toTensor().defined()) {
    const auto other = find(value.toTensor());
    return other == others.end() ? std::nullopt : std::optional<c10::IValue>(other->second);
  }
  if (!value.isTensorList()) return std::nullopt;  // the weights of an LSTM are a list
  c10::List<at::Tensor> all;
  for (const at::Tensor& each : value.toTensorList()) {
    const auto other = find(each);
    all.push_back(other == others.end() ? each : other->second);
  }
  return all;
}

void replace_in(Block& block, const tensor_map& others) {
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) replace_in(*inner, others);
    if (node->kind() != c10::prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    const auto other = value ? replaced(*value, others) : std::nullopt;
    if (!other) continue;
    const torch::jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(node->owningGraph()->insertConstant(*other));
  }
}

}  // namespace

operator_graph replace_weights(const operator_graph& model,
                               const std::function<at::Tensor(const graph_weight& weight)>& give) {
  operator_graph made = model;
  made.graph = model.graph->copy();
  made.weights = {};
  tensor_map others;
  for (const graph_weight& each : model.weights) {
    const auto [other, is_new] = others.try_emplace(each.tensor.unsafeGetTensorImpl());
    if (is_new) other->second = give(each);
    made.weights.add(each.name, other->second, each.kind);
  }
  replace_in(*made.graph->block(), others);
  return made;
}

}  // namespace troupe
