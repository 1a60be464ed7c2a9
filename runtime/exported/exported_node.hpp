#pragma once

#include <string>
#include <string_view>

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/exported/value_names.hpp"
#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Adds the operator torch.ops.aten.NAME.OVERLOAD, found in LibTorch's registry and filled by the names of its
/// arguments and the defaults of its schema. `name` is "NAME.OVERLOAD". Assertions are left out. Errors: E0210 where
/// the arguments do not fit; E0212 an operator with other effects than on tensors; E0217 one that LibTorch does not
/// have, or that writes its running statistics.
expected<void> add_operator(torch::jit::Graph& graph, value_names& names, const json_part& node,
                            const std::string& name);

/// Adds Python's operator of this name on sizes ("floordiv", "sym_max"). E0210; E0217 for one that is not supported.
expected<void> add_size_arithmetic(torch::jit::Graph& graph, value_names& names, const json_part& node,
                                   const std::string& name);

}  // namespace troupe
