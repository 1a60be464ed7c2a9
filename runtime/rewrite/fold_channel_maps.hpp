#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/rewrite/rewrite_graph.hpp"

namespace troupe {

/// A linear layer or convolution that is followed by a multiplication and an addition per channel becomes one layer
/// with other weights: batch normalisation in eval mode, and factors and summands that are constants (mul, add, sub,
/// div). Conditions:
///
/// - The layer's output has no other use: another reader would see the output of the other weights.
/// - Weights, bias, statistics and constants are constants, of float32 or float64 all alike: with others the
///   operators round or promote in between.
/// - It is certain that the map is over the channels. Batch normalisation is over dimension 1: that is the channels of
///   a convolution's output if it is in batches, and of a linear layer's if it has two dimensions. A constant counts
///   its dimensions from the back: [C, 1, 1] or one number behind a 2-dimensional convolution, [C] behind a linear
///   layer. A constant [C] behind a convolution is over columns, even if there are as many as channels.
/// - It is certain that the constant does not add dimensions or repeat channels: it has the layer's number of channels,
///   and no more dimensions than the output for all inputs.
/// - Nothing between the two writes memory: the layer moves down to the place of the folded operator.
/// - All weights stay finite: a large factor could overflow, where the plain calculation need not.
///
/// Whether a convolution's input is in batches is not in the graph, unless an operator before tells. Where it matters,
/// the convolution gets its input through troupe::of_rank, which refuses an input without the dimension of the batch.
///
/// Weights without memory (needed_weights.hpp) stay so, and count as finite.
void fold_channel_maps(torch::jit::Graph& graph, rewrite_report& report);

/// Whether the node is of a kind that can become part of a layer in front.
bool may_be_channel_map(const torch::jit::Node& node);

}  // namespace troupe
