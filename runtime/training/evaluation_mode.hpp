#pragma once

#include <string>
#include <vector>

#include "runtime/graph/layered_graph.hpp"

namespace troupe {

/// For people: that a model from a file is trained in evaluation mode, where its operators show it, with how many batch
/// normalisations keep their statistics, and how many dropouts do nothing. Empty: nothing in it tells the modes apart.
std::vector<std::string> evaluation_mode_of(const layered_graph& graph);

}  // namespace troupe
