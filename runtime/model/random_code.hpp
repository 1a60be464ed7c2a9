#pragma once

#include <optional>
#include <string>

#include <torch/csrc/jit/api/module.h>

namespace troupe {

/// The first operator of `module`'s forward, and of all that it calls, that makes it give other results for an equal
/// input, for people: "draws random numbers: aten::dropout with training on (torch/nn/functional.py:1425)". Nothing if
/// there is none.
///
/// Counted are operators that LibTorch marks as drawing random numbers, and batch_norm that keeps statistics of what it
/// sees. One that can be told not to, by `train`, `training` or a probability, counts where this is known to be told
/// otherwise: from a constant, or from an attribute of the module in eval mode. Branches that such values rule out do
/// not count. What only a run can tell is left to a run. LibTorch's exceptions pass. Runs nothing of the module.
[[nodiscard]] std::optional<std::string> find_random(const torch::jit::Module& module);

}  // namespace troupe
