#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/rewrite/rewrite_graph.hpp"

namespace troupe {

/// Top-level operators whose inputs are all constants become their results. Conditions:
///
/// - The operator has no effect, draws no random numbers, and no operator writes its inputs or results: a constant that
///   is written would have other values at the next run.
/// - Its results are tensors, numbers, or lists that a constructor makes of its inputs: other lists may be of any
///   length.
/// - The bytes of the results are known before they are computed, by the same call for tensors without memory
///   (the meta device), and all results together take no more than 1 MiB more than the constants that they
///   replace. A file can name a tensor of any size in a few bytes.
/// - LibTorch computes it without an error: one that would fail at run time fails there.
void fold_constants(const std::shared_ptr<torch::jit::Graph>& graph, rewrite_report& report);

/// Removes top-level operators and constants whose results have no reader, unless they write memory, have another
/// effect, or draw random numbers. LibTorch's own pass also removes operators whose writing has no reader by its
/// analysis, which does not see that dropout in eval mode returns its input.
void remove_unread(torch::jit::Graph& graph, rewrite_report& report);

/// Whether an operator may write a constant tensor: then the values of constants are not known.
bool may_write_constants(const std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace troupe
