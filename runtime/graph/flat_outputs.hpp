#pragma once

#include <string>
#include <vector>

#include "runtime/graph/operator_graph.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Takes the one output of a graph apart, which may be a tensor, or tuples, lists and dicts of tensors within each
/// other, and makes each tensor an output of its own. Gives their names: none for a single tensor, positions in a tuple
/// or list, keys of a dict, fields of a named tuple; "logits", "hidden_states.0" within each other. Members that are
/// None are left out. E0208 for an output that is something else, or of which it is not known before a run how many
/// members it has.
expected<std::vector<std::string>> flatten_outputs(operator_graph& model);

}  // namespace troupe
