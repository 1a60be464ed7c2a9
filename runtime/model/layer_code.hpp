#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/function.h>
#include <torch/csrc/jit/api/module.h>

#include "runtime/tensor/faithful_copy.hpp"
#include <troupe/model.hpp>

namespace troupe {

/// One forward that is called many times: a layer's, or that of a fused run of layers. Belongs to one thread at a time;
/// two objects of the same module may run at once. A layer that writes its input gets a faithful copy,
/// unless the input is a temporary without another owner.
class layer_code {
 public:
  explicit layer_code(const torch::jit::Module& module);
  explicit layer_code(const layer& one);

  /// One tensor in, one tensor out, which may share storage with the input. Throws what LibTorch throws, and
  /// std::runtime_error if the result is no tensor. Wants a c10::InferenceMode around it.
  at::Tensor run(at::Tensor input);

 private:
  /// Keeps the code alive and is the first argument.
  c10::IValue self_;
  /// Null for a layer that passes its input on.
  torch::jit::Function* forward_ = nullptr;
  bool writes_input_ = false;
  torch::jit::Stack stack_;
};

/// The code of each layer, in order.
std::vector<layer_code> code_of(std::span<const layer> layers);

}  // namespace troupe
