#include "runtime/model/move_module.hpp"

#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace troupe {

torch::jit::Module moved(const torch::jit::Module& module, c10::Device device) {
  torch::jit::Module copy = module.clone();
  std::unordered_map<const c10::TensorImpl*, at::Tensor> known;
  for (const torch::jit::Module& each : copy.modules()) {
    const auto object = each._ivalue();
    for (std::size_t slot = 0; slot < object->slots().size(); ++slot) {
      const c10::IValue& value = object->getSlot(slot);
      if (!value.isTensor() || !value.toTensor().defined()) continue;
      const at::Tensor& from = value.toTensor();
      at::Tensor& to = known[from.unsafeGetTensorImpl()];
      if (!to.defined()) to = from.detach().to(device).requires_grad_(from.requires_grad());
      object->setSlot(slot, to);
    }
  }
  return copy;
}

}  // namespace troupe
