#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "runtime/graph/operator_graph.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// E0209 for an input whose ids the model has no embeddings or positions for, or that are no integers [N, S]. The
/// values of tensors on a device are not looked at, which would wait for it. `where` is the place in errors.
expected<void> check_ids(const graph_input& input, const at::Tensor& given, const std::string& where);

}  // namespace troupe
