#pragma once

#include <optional>
#include <string>

#include <c10/core/ScalarType.h>

#include "runtime/graph/layered_graph.hpp"

namespace troupe {

/// The input shape that a layer's parameters ask for, for people: "[N, 3, H, W]". Known where the first operation on
/// what crosses its front is a linear map, a convolution or a normalisation with constant weights; nothing otherwise.
std::optional<std::string> expected_input(const layered_graph& graph, std::size_t layer);

/// The floating type of a layer's weights: that of its first floating constant.
std::optional<at::ScalarType> weights_type(const layered_graph& graph, std::size_t layer);

}  // namespace troupe
