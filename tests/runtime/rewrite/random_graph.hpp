#pragma once

#include <cstdint>
#include <memory>

#include <torch/csrc/jit/ir/ir.h>

namespace troupe::testing {

/// A graph of one input and one to three outputs, drawn at random.
struct random_graph {
  std::shared_ptr<torch::jit::Graph> graph;
  /// Two batches of different sizes; contiguous, in channels-last order, or not dense.
  std::vector<at::Tensor> inputs;
};

/// The graph of a seed: convolutions, linear layers and their forms, normalisations, constants of every shape that
/// broadcasts, activations, sums with earlier values, operators in place, poolings, padded slices, concatenations,
/// views, permutations, dropout and detach. Sizes are often equal by accident, so that a fold over a wrong axis fits.
/// Drawn anew until rounding alone moves each output by less than a quarter of tolerance_of()
/// (runtime/model/output_difference.hpp), measured against the same graph in float64.
random_graph draw_graph(std::uint64_t seed);

}  // namespace troupe::testing
