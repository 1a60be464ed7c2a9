#pragma once

#include <string>
#include <vector>

#include "runtime/graph/layered_graph.hpp"

namespace troupe {

struct layer_weight_name {
  std::string key;   ///< within the layer: "conv1.weight"
  std::string name;  ///< in the model's state dict: "layer1.0.conv1.weight"
};

/// The weights of a layer, for files that hold one layer each.
struct layer_names {
  std::string title;  ///< "layer 3 (layer1.0 BasicBlock)"
  std::vector<layer_weight_name> weights;
};

/// Each entry of the model's table of weights in one layer, in the order of the table: in the layer whose module it is
/// part of, by the name, and its key is the rest of the name. Weights of no layer's module are in the first layer that
/// reads them, by their whole names. Keys of a layer are distinct.
std::vector<layer_names> weights_by_layer(const layered_graph& model);
/// The same of a model that is not cut yet, between modules, without data for its optional inputs.
std::vector<layer_names> weights_by_layer(const operator_graph& model);

}  // namespace troupe
