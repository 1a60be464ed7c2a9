#pragma once

#include <set>
#include <string>

#include "runtime/graph/operator_graph.hpp"

namespace troupe {

/// Decides which arguments of the model get data: those of `given`, and those that must be given. The others have their
/// default values from now on, and what follows from these, such as a branch for a mask of None, is decided. Inputs of
/// the graph are tensors afterwards, but for a state.
void bind_inputs(operator_graph& model, const std::set<std::string>& given);

/// Computes all values but tensors that do not depend on the input, and removes unused operators. No tensor is
/// computed, so that the bits stay. Divisions of whole numbers are those of whole_division.hpp afterwards.
void simplify(torch::jit::Graph& graph);

}  // namespace troupe
