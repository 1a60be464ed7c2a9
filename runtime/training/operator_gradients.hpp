#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/graph/graph_part.hpp"

namespace troupe {

/// The first operator of a part through which no gradient passes, though its input has one: "aten::histc
/// (model.py:12)". Nothing where all have gradients. Runs the part operator by operator, under the caller's autograd;
/// `inputs`: some that the part accepts, which require gradients where they would in training. Throws what LibTorch
/// throws.
std::optional<std::string> operator_without_gradient(const graph_part& part, std::vector<at::Tensor> inputs);

}  // namespace troupe
