#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace troupe {

/// Makes inputs of the graph, behind those that it has, of the constants that are trained: autograd wants leaves, and
/// constants require no gradient. `trained` says which parameter a tensor is. Gives the parameters of the new inputs,
/// in their order.
std::vector<std::size_t> weights_as_inputs(
    torch::jit::Graph& graph, const std::function<std::optional<std::size_t>(const at::Tensor& constant)>& trained);

}  // namespace troupe
