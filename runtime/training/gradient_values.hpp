#pragma once

#include <functional>
#include <unordered_set>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace troupe {

/// Inputs through which a gradient may pass. Of the second one of type_as(), expand_as() and their kin, and of to(),
/// the type or shape alone counts.
[[nodiscard]] at::ArrayRef<const torch::jit::Value*> inputs_with_values(const torch::jit::Node& step);

/// The step stops gradients on purpose, or makes new values of a shape alone.
[[nodiscard]] bool stops_gradients(const torch::jit::Node& step);

/// The values of a graph that follow from trained weights. At a cut these alone require gradients, as in a model that
/// is not cut: attention, for one, computes other bits with a mask that requires a gradient. Where an operator writes
/// such a value into a tensor, all values count, since others may be views of that tensor.
class gradient_values {
 public:
  gradient_values(const torch::jit::Graph& graph, const std::function<bool(const at::Tensor& constant)>& is_trained);

  [[nodiscard]] bool contains(const torch::jit::Value* value) const { return are_all_ || found_.contains(value); }

 private:
  using trained_test = std::function<bool(const at::Tensor&)>;

  void find_in(const torch::jit::Block& block, const trained_test& is_trained);
  [[nodiscard]] bool carries(const torch::jit::Node& step, const trained_test& is_trained) const;

  std::unordered_set<const torch::jit::Value*> found_;
  bool are_all_ = false;
};

}  // namespace troupe
