#pragma once

#include <c10/core/ScalarType.h>

#include "runtime/graph/operator_graph.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A model whose floating-point parameters and buffers have another type; everything else stays. The model that is
/// given is not changed. E0104 for a quantized one: its integers have no other type.
expected<operator_graph> cast_weights(const operator_graph& model, c10::ScalarType type);

}  // namespace troupe
