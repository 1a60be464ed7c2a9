#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <torch/csrc/jit/api/module.h>

namespace troupe {

/// A copy of the module whose tensors are on the device, parameters, buffers and other attributes alike; tensors that
/// were shared inside it are shared again. The module itself stays as it is. Module::to() would move the tensors of
/// both, and cannot move any to LibTorch's extension device. Throws what LibTorch throws.
[[nodiscard]] torch::jit::Module moved(const torch::jit::Module& module, c10::Device device);

/// The same with floating-point parameters and buffers cast, and all others as they are: Module::to() would cast
/// indices, too.
[[nodiscard]] torch::jit::Module cast_to(const torch::jit::Module& module, at::ScalarType type);

/// Whether it has weights that are integers with a scale, which no cast makes floating-point numbers.
[[nodiscard]] bool has_quantized_weights(const torch::jit::Module& module);

}  // namespace troupe
