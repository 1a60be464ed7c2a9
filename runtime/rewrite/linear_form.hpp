#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/rewrite/rewrite_graph.hpp"

namespace troupe {

/// Top-level products with a constant matrix become aten::linear, so that the following rewrites know one form:
/// aten::addmm(bias, x, W), aten::mm(x, W), aten::matmul(x, W) with W [K, N]. No weight is copied. Conditions:
///
/// - W is a constant of two dimensions: a product with another one is one per matrix of a batch, or with a vector.
/// - beta and alpha of addmm are 1, and its bias is a constant [N]: aten::linear has no factors and no other bias.
/// - pack_linear() takes W and the bias (types, the CPU).
void use_linear_form(torch::jit::Graph& graph);

/// aten::linear with constant weights becomes troupe::linear with packed weights, with the relu that follows it.
/// Conditions:
///
/// - pack_linear() takes weight and bias. The operator refuses an x of another type, as aten::linear does.
/// - For the relu: the output has no other use, and nothing writes memory between the two, as x is read later then.
void pack_linears(torch::jit::Graph& graph, rewrite_report& report);

}  // namespace troupe
