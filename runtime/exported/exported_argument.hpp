#pragma once

#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/ir/ir.h>

#include "runtime/exported/value_names.hpp"
#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The value of an argument at the graph's point of insertion: one that has been made, a constant, or a list of such.
/// `wanted` is the type in the operator's schema, null where there is none; it chooses between whole and real numbers
/// and says what an empty list is of. E0210; E0217 for an argument of a kind that is not supported.
expected<torch::jit::Value*> argument_value(torch::jit::Graph& graph, const value_names& names, const json_part& given,
                                            const c10::TypePtr& wanted);

/// The same for `Scalar` of a schema: TorchScript's truth values are no numbers, and Python's are.
torch::jit::Value* as_number(torch::jit::Graph& graph, torch::jit::Value* value);

}  // namespace troupe
