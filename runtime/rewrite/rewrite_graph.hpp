#pragma once

#include <cstddef>

#include "runtime/graph/operator_graph.hpp"

namespace troupe {

/// Where the rewritten graph will run.
enum class rewrite_target {
  cpu,     ///< folding, and the operators of this folder, which pack weights for the CPU
  device,  ///< folding alone
};

/// How often each rewrite was made.
struct rewrite_report {
  std::size_t folded_constants = 0;              ///< operators on constants that became their result
  std::size_t removed_operators = 0;             ///< operators that give their input, or whose results have no reader
  std::size_t operators_not_in_place = 0;        ///< operators that wrote their input and need not
  std::size_t folded_normalisations = 0;         ///< normalisations that became part of a layer's weights
  std::size_t folded_constants_per_channel = 0;  ///< factors and summands that became part of a layer's weights
  std::size_t packed_convolutions = 0;           ///< convolutions with packed weights, in channels-last order
  std::size_t additions_in_place = 0;            ///< of these: those that add to the other summand in place
  std::size_t packed_linears = 0;                ///< linear layers with packed weights
  std::size_t joined_relus = 0;                  ///< rectifiers that became part of a packed layer
  std::size_t in_whole_vectors = 0;              ///< elementwise operators whose bits no longer depend on the place

  bool operator==(const rewrite_report&) const = default;
};

/// Changes `model.graph` into one that computes the same faster, up to rounding: outputs keep types, shapes and
/// strides, and values move by a few eps of their magnitude. It is called once for the whole graph, before it is cut,
/// so that no cut changes the results. Which rewrites there are, and under which conditions, stands in the headers
/// of their files (simplify, constant_folding, linear_form, fold_channel_maps, channels_last, whole_vectors).
///
/// Tensors of the graph are not written: changed weights are new tensors, and the others stay shared with the graphs
/// that the caller has copied this one from. A graph with a state, or one that may write one of its constants, is left
/// as it is but for what changes no bits. Operators inside of blocks are left as they are. Throws what LibTorch throws
/// of a graph that is not valid.
rewrite_report rewrite_graph(operator_graph& model, rewrite_target target);

}  // namespace troupe
