#include "runtime/graph/replace_weights.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>

#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
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

/// Whether the memory that the tensor is a view of begins at such a place.
bool is_aligned(const at::Tensor& tensor) {
  if (!tensor.is_cpu() || tensor.layout() != at::kStrided) return true;
  return reinterpret_cast<std::uintptr_t>(tensor.storage().data()) % c10::gAlignment == 0;
}

}  // namespace

operator_graph replace_weights(const operator_graph& model,
                               const std::function<at::Tensor(const graph_weight& weight)>& give) {
  operator_graph made = model;
  made.graph = model.graph->copy();
  made.weights = {};
  made.weights.leave_out(model.weights.left_out());
  tensor_map others;
  for (const graph_weight& each : model.weights) {
    const auto [other, is_new] = others.try_emplace(each.tensor.unsafeGetTensorImpl());
    if (is_new) other->second = give(each);
    made.weights.add(each.name, other->second, each.kind);
  }
  replace_in(*made.graph->block(), others);
  return made;
}

operator_graph with_aligned_weights(operator_graph model) {
  if (std::ranges::all_of(model.weights, [](const graph_weight& each) { return is_aligned(each.tensor); }))
    return model;
  std::unordered_map<const void*, c10::Storage> copies;  // tensors of one memory stay so
  return replace_weights(model, [&](const graph_weight& weight) {
    const at::Tensor& tensor = weight.tensor;
    if (is_aligned(tensor)) return tensor;
    const c10::Storage& from = tensor.storage();
    const auto [copy, is_new] = copies.try_emplace(from.data());
    if (is_new) {
      copy->second = c10::Storage(c10::Storage::use_byte_size_t(), static_cast<std::int64_t>(from.nbytes()),
                                  c10::GetDefaultCPUAllocator(), false);
      std::memcpy(copy->second.mutable_data(), from.data(), from.nbytes());
    }
    return at::empty({0}, tensor.options())
        .set_(copy->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
  });
}

}  // namespace troupe
