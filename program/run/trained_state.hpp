#pragma once

#include <map>
#include <optional>

#include "program/run/started_run.hpp"
#include "program/topology/checked_run.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// Parameters and buffers of the trained pipeline, by the names of the model's state dict, as they are after the
/// decision of the call `through`; nothing: as they were at the start. The stages have them in memory that this process
/// has, too; a copy is returned. No call is open. E0609 where a stage does not carry the decision out in time; E0620.
[[nodiscard]] expected<state_dict> trained_weights(const checked_run& run, const started_run& stages,
                                                   std::optional<call_number> through);

}  // namespace troupe
