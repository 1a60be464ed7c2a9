#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/training.hpp"
#include "runtime/graph/layered_graph.hpp"
#include <troupe/layer_spec.hpp>

namespace troupe {

/// By constant of the graph, the layers that use it, ascending.
[[nodiscard]] std::map<const c10::TensorImpl*, std::vector<std::size_t>> users_of_constants(const layered_graph& graph);
/// Whether such a weight is trained.
[[nodiscard]] bool is_trained(const graph_weight& weight);

/// For each tensor, or module, that several layers of a model use: these layers, ascending.
using shared_layers = std::vector<std::vector<std::size_t>>;

/// Places of one key.
[[nodiscard]] shared_layers shared_layers_of(const std::vector<layer_spec>& specs);
/// Layers with a weight that is trained in common.
[[nodiscard]] shared_layers shared_layers_of(const layered_graph& graph);

/// The parts that share something, if the model is cut there: each pair once, ascending. `boundaries`: where parts
/// begin, and the number of layers.
[[nodiscard]] std::vector<tied_stages> tied_parts(const shared_layers& shared,
                                                  const std::vector<std::size_t>& boundaries);

}  // namespace troupe
