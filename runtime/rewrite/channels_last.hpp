#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/rewrite/rewrite_graph.hpp"

namespace troupe {

/// Top-level 2-dimensional convolutions that follow each other become troupe::convolution with packed weights, which
/// work in channels-last order, together with the relu or the addition (and relu) that follows
/// (packed_convolution.hpp).
///
/// A *run* is all that is computed from one tensor, its entry, by operators that give channels-last order for it: these
/// convolutions, elementwise operators, poolings, normalisations, sums, products and concatenations of values of the
/// same run, and slices that are padded. The plain graph gives all of them in contiguous order if the entry is, else in
/// channels-last order. What else reads a value of a run gets it through troupe::plain_order in the order of
/// the plain graph: outputs of the graph, views, and so on, but for operators whose results do not depend on the order
/// of their input (mean, flatten from dimension 1 to the end).
///
/// Conditions for a convolution: weights and bias are constants of float32 on the CPU, the weights not in channels-last
/// order, for which the plain result would be, too; stride, padding and dilation are constants of two numbers; its run
/// has two or more convolutions, as the change of the order would cost more than one gains; no
/// operator writes a value of a run in place, since readers may get a copy.
///
/// Conditions for a relu and for an addition: the convolution's output has no other use, and nothing between the two
/// writes memory, as its input is read later. For the addition: alpha is 1, and the other summand, in whose memory the
/// sum is made, is a value of the same run that can_be_overwritten(), and is not the convolution's input.
/// That allows a cut between any two operators: no operator behind the cut reads the written tensor but through the
/// sum.
void use_channels_last(const std::shared_ptr<torch::jit::Graph>& graph, rewrite_report& report);

}  // namespace troupe
