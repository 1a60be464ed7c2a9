#pragma once

#include <map>
#include <string>

#include "program/run/trained_state.hpp"
#include "program/topology/checked_run.hpp"
#include "runtime/journal/journal_format.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// All that the bits of a training depend on, for the header of its journal: the model with the weights that it begins
/// with, options, LibTorch, processor and kernels. Stages, replicas, workers and recomputation are not among them. What
/// functions do cannot be seen. `others`: training_journal_options::pins. `run.options.threads` is resolved. Errors:
/// those of model_source::identity(); E0104 for a name in `others` that the engine has itself.
[[nodiscard]] expected<journal_pins> pins_of_training(const checked_run& run, const training_snapshot& initial,
                                                      const std::map<std::string, std::string>& others);

}  // namespace troupe
