#pragma once

#include <optional>
#include <string>

#include <torch/csrc/jit/api/module.h>

namespace troupe {

/// The input shape that a layer's parameters ask for, for people: "[N, 3, H, W]". Known where the first operation on
/// the input is a linear map, a convolution or a normalisation with parameters; nothing otherwise.
std::optional<std::string> expected_input(const torch::jit::Module& module);

/// The floating type of a layer's weights: that of its first floating parameter or, without one, buffer.
std::optional<at::ScalarType> weights_type(const torch::jit::Module& module);

}  // namespace troupe
