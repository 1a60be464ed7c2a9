#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/rewrite/rewrite_graph.hpp"

namespace troupe {

/// Elementwise operators of LibTorch whose bits depend on where a number stands become operators of the same arguments
/// in the namespace troupe: sigmoid, silu, mish, elu, softplus, gelu, and pow with a number as exponent.
///
/// LibTorch computes whole vectors with polynomials of its own, and the numbers that are left over at the end of a
/// thread's part with the C library's functions, whose last digits differ. So a sample of 100 numbers gets other bits
/// at another place of the batch, or with another number of threads. troupe::sigmoid and so on compute everything in
/// whole vectors: the parts of threads are multiples of 64 numbers, and the last numbers are filled up to as many. Each
/// number has the bits that LibTorch gives it within a vector, and tensors keep their types, shapes and strides.
///
/// This holds for their forms in place, too. Other elementwise operators (tanh, exp, and those that round exactly) gave
/// the same bits at every place in all tries, and stay. Condition: the exponent of pow is a constant, and not one that
/// LibTorch has exact operators for (2, 3, 1/2 and their like).
void use_whole_vectors(torch::jit::Graph& graph, rewrite_report& report);

}  // namespace troupe
