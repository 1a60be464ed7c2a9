#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/plan/model_drawing.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "runtime/model/probe.hpp"

namespace troupe {

/// Draws a model. `crossing` is empty, or what probe_layers() found: shapes are then those of its samples, and bytes
/// those of its samples and so many more.
drawn_model draw(const layered_graph& model, const std::vector<passing_values>& crossing = {},
                 std::uint64_t further_samples = 0);

}  // namespace troupe
