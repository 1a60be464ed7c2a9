#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/rewrite/rewrite_graph.hpp"

namespace troupe {

/// Top-level operators that give their input become that input, and operators that write their input become those that
/// do not. No bits change. Conditions:
///
/// - dropout in all its forms: `train` is the constant false, for which LibTorch returns the input itself.
/// - checks, which raise or have no effect: they ask for nothing but numbers of dimensions and sizes, as scripted
///   modules do. The operators behind them refuse most of the inputs that the check refuses, and a folded normalisation
///   asks itself (fold_channel_maps.hpp). A check of numbers in a tensor stays.
/// - detach, alias, lift_fresh: the result is the same memory in the same form, so reads and writes through either are
///   the same. Left as they are where the graph has an operator that changes the form of a tensor in place (t_,
///   squeeze_, resize_, ...): the other name would keep the old form.
/// - contiguous in the usual order of what an operator gives that is contiguous for every input (linear, mm, addmm).
/// - relu_, sigmoid_, ...: the written tensor has no reader but through the result (can_be_overwritten).
/// - add_, sub_, mul_, div_: the same, and both operands are float32, or the second is a number: otherwise the operator
///   that writes keeps the type of its input, and the one that does not promotes it. Where sizes do not fit, the
///   operator that writes refuses and the other one may broadcast, so that such a model no longer fails there.
void simplify(torch::jit::Graph& graph, rewrite_report& report);

}  // namespace troupe
