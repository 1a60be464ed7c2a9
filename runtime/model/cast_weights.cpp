#include "runtime/model/cast_weights.hpp"

#include <torch/csrc/jit/ir/constants.h>

#include "runtime/model/code_layers.hpp"

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;

class weight_cast {
 public:
  weight_cast(operator_graph& model, c10::ScalarType type) : model_(model), type_(type) {}

  /// False if a constant is quantized.
  bool run(Block& block) {
    for (Node* node : block.nodes()) {
      for (Block* inner : node->blocks()) {
        if (!run(*inner)) return false;
      }
      if (node->kind() == c10::prim::Constant && !cast(*node)) return false;
    }
    return true;
  }

  /// What the new tensors are.
  [[nodiscard]] const std::unordered_map<const c10::TensorImpl*, weight_kind>& kinds() const { return kinds_; }

 private:
  bool cast(Node& constant) {
    const auto value = torch::jit::toIValue(constant.output());
    if (!value) return true;
    if (value->isCustomClass()) return is_code_layer(*value);  // packed weights are objects of LibTorch's own
    if (value->isTensor() && value->toTensor().defined()) {
      if (value->toTensor().is_quantized()) return false;
      put(constant, cast_of(value->toTensor()));
    } else if (value->isTensorList()) {
      c10::List<at::Tensor> all;
      for (const at::Tensor& each : value->toTensorList()) all.push_back(cast_of(each));
      put(constant, all);
    }
    return true;
  }

  /// Each tensor once: tied weights stay one tensor.
  at::Tensor cast_of(const at::Tensor& from) {
    const auto kind = model_.weights.find(from.unsafeGetTensorImpl());
    if (kind == model_.weights.end() || !from.is_floating_point()) return from;
    at::Tensor& made = made_[from.unsafeGetTensorImpl()];
    if (!made.defined()) made = from.to(type_);
    kinds_.emplace(made.unsafeGetTensorImpl(), kind->second);
    return made;
  }

  void put(Node& constant, const c10::IValue& value) {
    const torch::jit::WithInsertPoint here(&constant);
    constant.output()->replaceAllUsesWith(model_.graph->insertConstant(value));
  }

  operator_graph& model_;
  c10::ScalarType type_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> made_;
  std::unordered_map<const c10::TensorImpl*, weight_kind> kinds_;
};

}  // namespace

expected<operator_graph> cast_weights(const operator_graph& model, c10::ScalarType type) {
  operator_graph cast = model;
  cast.graph = model.graph->copy();
  weight_cast change(cast, type);
  if (!change.run(*cast.graph->block())) {
    return fail(error_code::flags_contradict, "dtype", model.file + ": it is quantized, and its weights cannot be cast",
                "leave the dtype out");
  }
  for (const auto& [tensor, kind] : change.kinds()) cast.weights.emplace(tensor, kind);
  return cast;
}

}  // namespace troupe
