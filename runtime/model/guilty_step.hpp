#pragma once

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "runtime/graph/graph_part.hpp"
#include "runtime/model/graph_values.hpp"

namespace troupe {

/// Where a forward fails.
struct guilty_step {
  std::string layer = "a layer that does not fail again";  ///< "layer 3 (features.0 Conv2d)"
  std::string step = {};                                   ///< "aten::conv2d (model.py:12)"
  /// The first tensor that the step takes; undefined if it takes none.
  at::Tensor input = {};
  /// The floating type of the constants that the step uses.
  std::optional<at::ScalarType> weights = std::nullopt;
};

/// Runs a part that failed once more, operator by operator, up to the one that fails. Under the caller's
/// c10::InferenceMode; never throws.
guilty_step find_guilty(const graph_part& part, graph_values inputs);

}  // namespace troupe
