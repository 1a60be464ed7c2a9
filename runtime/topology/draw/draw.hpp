#pragma once

#include <string>

#include "runtime/topology/stage_graph.hpp"

namespace troupe {

/// Pictures of a valid graph, the same for the same graph.

/// For a terminal: a line per node in topological order, with its kind and replicas, and a line per outgoing edge, with
/// the credits of the edge and ports that are not called "out" and "in". UTF-8; a name is never cut.
///
///   source  loader
///           └─ 2 credits ─▶ stage 0
///   stage   stage 0  ×2
///           └─ scores ─▶ metrics
std::string draw_text(const stage_graph& graph);

/// The same as SVG 1.1, left to right: a box per node, coloured by kind; replicas as a stack; a dashed frame around
/// every pipeline group; edges with their credits. On a white background, without scripts or fonts of its own.
std::string draw_svg(const stage_graph& graph);

}  // namespace troupe
