#pragma once

#include <optional>
#include <string>

#include "runtime/graph/layered_graph.hpp"

namespace troupe {

/// The first operator of a layer that makes it give other results for an equal input, for people: "draws random
/// numbers: aten::dropout with training on (torch/nn/functional.py:1425)". Nothing if there is none.
///
/// Counted are operators that LibTorch marks as drawing random numbers, and batch_norm that keeps statistics of what it
/// sees. One that can be told not to, by `train`, `training` or a probability, counts where this is known to be told
/// otherwise, by a constant, which attributes of a module in eval mode are by now. What only a run can tell is left to
/// a run. Runs nothing.
[[nodiscard]] std::optional<std::string> find_random(const layered_graph& graph, std::size_t layer);

/// The first of them that keeps statistics.
std::optional<std::string> find_kept_statistics(const layered_graph& graph, std::size_t layer);

}  // namespace troupe
