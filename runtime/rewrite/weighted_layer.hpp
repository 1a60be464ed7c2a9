#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace troupe {

/// A linear layer or a convolution whose weights are constants of float32 or float64.
struct weighted_layer {
  at::Tensor weight;         ///< as the operator takes it
  at::Tensor bias;           ///< [channels]; undefined for none
  std::int64_t spatial = 0;  ///< dimensions behind the channels: 0 for a linear layer, 1 to 3 for a convolution
  std::int64_t groups = 1;
  bool is_transposed = false;

  /// The number of channels of the output.
  [[nodiscard]] std::int64_t channels() const;
};

/// aten::linear, aten::conv1d to conv3d and conv_transpose1d to 3d, aten::convolution, aten::_convolution.
std::optional<weighted_layer> read_weighted_layer(const torch::jit::Node& node);

/// The layer whose output is `factor` x output + `shift`, both [channels] of float64: computed in double, rounded once.
/// Nothing if a weight would be no finite number.
std::optional<weighted_layer> scaled(const weighted_layer& layer, const at::Tensor& factor, const at::Tensor& shift);

/// Gives the node the weights of `layer`, as new constants before it.
void set_weights(torch::jit::Node& node, const weighted_layer& layer);

}  // namespace troupe
