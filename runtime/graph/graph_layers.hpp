#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/live_values.hpp"
#include "runtime/graph/operator_graph.hpp"
#include <troupe/options.hpp>

namespace troupe {

/// The smallest unit that a stage can begin or end with: the steps [begin, end) of a graph.
struct graph_layer {
  std::string name;  ///< path of the module: "features.0"; of operators that belong to none: "flatten"
  std::string type;  ///< the Python class's own name: "Conv2d"; of operators that belong to no module their names
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t parameters = 0;
  std::uint64_t trainable = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t buffer_bytes = 0;
  /// Why no cut is possible at a place inside of the layer that would be a boundary otherwise.
  std::optional<std::string> uncut = std::nullopt;
};

/// The layers of a graph, which has at least one step, in order and without gaps. `between` operators: each step is
/// one. Between modules: the root is taken apart into the modules that it calls and the operators between them. A
/// module is taken apart in the same way if it is the only one that its parent calls, if it has a list of modules
/// (nn.ModuleList), or if between the modules that it calls one tensor is in use, besides those that only pass by, as
/// in nn.Sequential. Any other module, such as a residual block, is one layer. Layers between which `live` objects to a
/// cut are one layer.
std::vector<graph_layer> find_layers(const operator_graph& model, const live_values& live, layer_unit between);

/// "features.0 Conv2d"; "flatten" where both are the same.
std::string title_of(const graph_layer& layer);
/// "layer 3 (features.0 Conv2d)", as every error and report calls it.
std::string layer_text(std::size_t index, const graph_layer& layer);

}  // namespace troupe
