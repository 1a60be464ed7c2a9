#pragma once

#include <string>

#include "runtime/topology/draw/draw.hpp"

namespace troupe {

/// "  ×3  in id order": what both drawings say behind a node's name.
std::string node_label(const graph_node& node);
/// "yes: 2 credits, as early": what both drawings say on an edge.
std::string edge_label(const stage_graph& graph, const graph_edge& edge);

}  // namespace troupe
