#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include "runtime/graph/graph_part.hpp"

namespace troupe {

/// A part of a model as code that runs. Any thread; one object may run in several threads at a time.
class graph_code {
 public:
  explicit graph_code(const graph_part& part);

  [[nodiscard]] std::size_t inputs() const noexcept { return kinds_.size(); }
  /// One tensor per input of the part; numbers, truth values and lists of integers are tensors of one element or one
  /// dimension. Outputs in the same form. An input that the part writes to is copied first, unless it has no other
  /// owner; an input that only passes through is handed on as it is. Throws what LibTorch throws. Wants a
  /// c10::InferenceMode around it.
  [[nodiscard]] std::vector<at::Tensor> run(std::vector<at::Tensor> inputs) const;

 private:
  torch::jit::Code code_;
  std::optional<c10::IValue> state_;
  std::vector<c10::TypePtr> kinds_;
  /// By input, without the state.
  std::vector<bool> written_;
};

}  // namespace troupe
