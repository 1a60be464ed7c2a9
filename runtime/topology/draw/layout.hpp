#pragma once

#include <cstddef>
#include <vector>

#include "runtime/topology/stage_graph.hpp"

namespace troupe {

/// Where a node stands: its column is the longest way from the source, its row a place of its own in that column.
struct grid_place {
  std::size_t column = 0;
  std::size_t row = 0;
};

/// By node. Rows follow the mean row of a node's predecessors, so that edges seldom cross; ties keep the order of
/// addition. The graph is valid.
std::vector<grid_place> lay_out(const stage_graph& graph);

}  // namespace troupe
