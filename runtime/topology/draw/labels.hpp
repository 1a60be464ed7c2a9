#pragma once

#include <string>

#include "runtime/topology/draw/draw.hpp"

namespace troupe {

/// Text after a node's name in the text and SVG drawings: its replicas, if more than one, and whether it takes
/// micro-batches in id order. Starts with two spaces, or is empty: "  ×3  in id order". UTF-8, not escaped.
std::string node_label(const graph_node& node);
/// Text on an edge in both drawings: the output port unless "out", the credits ("scores" to a sink), and the input port
/// unless "in": "yes: 2 credits, as early". `edge` belongs to `graph`. UTF-8, not escaped.
std::string edge_label(const stage_graph& graph, const graph_edge& edge);

}  // namespace troupe
