#include "runtime/model/move_module.hpp"

#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace troupe {
namespace {

/// A copy of the module in which change(tensor, is_weight) replaces each tensor. A tensor that the module holds in two
/// places is changed once, and both places share the result. `is_weight` says that it is a parameter or a buffer.
template <class Change>
torch::jit::Module changed(const torch::jit::Module& module, const Change& change) {
  torch::jit::Module copy = module.clone();
  std::unordered_map<const c10::TensorImpl*, at::Tensor> known;
  for (const torch::jit::Module& each : copy.modules()) {
    const auto object = each._ivalue();
    for (std::size_t slot = 0; slot < object->slots().size(); ++slot) {
      const c10::IValue& value = object->getSlot(slot);
      if (!value.isTensor() || !value.toTensor().defined()) continue;
      const at::Tensor& from = value.toTensor();
      at::Tensor& to = known[from.unsafeGetTensorImpl()];
      const bool is_weight = each.type()->is_parameter(slot) || each.type()->is_buffer(slot);
      if (!to.defined()) to = change(from.detach(), is_weight).requires_grad_(from.requires_grad());
      object->setSlot(slot, to);
    }
  }
  return copy;
}

}  // namespace

torch::jit::Module moved(const torch::jit::Module& module, c10::Device device) {
  return changed(module, [&](const at::Tensor& from, bool) { return from.to(device); });
}

torch::jit::Module cast_to(const torch::jit::Module& module, at::ScalarType type) {
  return changed(module, [&](const at::Tensor& from, bool is_weight) {
    return is_weight && from.is_floating_point() ? from.to(type) : from;
  });
}

bool has_quantized_weights(const torch::jit::Module& module) {
  for (const torch::jit::Module& each : module.modules()) {
    for (const c10::IValue& value : each._ivalue()->slots()) {
      // packed weights are objects of LibTorch's own
      if (value.isCustomClass() || (value.isTensor() && value.toTensor().defined() && value.toTensor().is_quantized()))
        return true;
    }
  }
  return false;
}

}  // namespace troupe
