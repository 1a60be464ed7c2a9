#pragma once

#include <cstddef>

#include "runtime/graph/layered_graph.hpp"
#include "runtime/graph/operator_graph.hpp"

namespace troupe {

/// A copy of the model in which only the layers [begin, end) keep their weights: those of other layers become tensors
/// of the meta device, which have sizes and no memory. So a process that runs these layers reads and changes no other
/// weights. Also kept are weights that a rewrite may join with these layers, and those from which constants for them
/// are computed, so that rewrite_graph() makes of these layers what it makes of them in the whole model. Which weights
/// a rewrite reads is not always known before; then lacks_weights() is true of the rewritten part.
operator_graph with_weights_of(const layered_graph& model, std::size_t begin, std::size_t end);

/// Whether an operator of a part has a constant without memory.
bool lacks_weights(const torch::jit::Graph& part);

}  // namespace troupe
