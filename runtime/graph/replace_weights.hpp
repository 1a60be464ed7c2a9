#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "runtime/graph/operator_graph.hpp"

namespace troupe {

/// A model with other tensors in the place of its weights: those that `give` returns, which may be the weight itself.
/// It is called once for each tensor, in the order of model.weights, so that tied weights stay one tensor. The model
/// that is given is not changed.
operator_graph replace_weights(const operator_graph& model,
                               const std::function<at::Tensor(const graph_weight& weight)>& give);

/// A model whose weights begin where an allocation of LibTorch does, at a multiple of 64 bytes: products of matrices
/// have other bits elsewhere. Only a model with others is copied, and only the weights that need it.
operator_graph with_aligned_weights(operator_graph model);

}  // namespace troupe
