#pragma once

#include <functional>
#include <string>

#include "runtime/graph/operator_graph.hpp"

namespace troupe {

/// What the bits of a sample's outputs may depend on, beside the sample: for people, "the micro-batch size
/// (aten::bmm in layer 4 (attn Attention))", or "nothing".
///
/// A list of operators, found by comparing rows of batches from 1 to 257 at 1, 2, 3 and 7 threads
/// (bench/results/linear.md has the table), says which ones give a row the same bits in any batch. Another operator
/// counts as one that does not, also in a branch. `threads` is the number that the run has; at one thread more
/// operators are independent. `layer_of` names the layer of a step.
std::string find_bit_dependence(const operator_graph& model, std::uint32_t threads,
                                const std::function<std::string(torch::jit::Node&)>& layer_of);

}  // namespace troupe
