#pragma once

#include <troupe/actors/evaluator.hpp>
#include <troupe/messages/error.hpp>

namespace troupe {

/// Whether the options of a run are in range and do not contradict each other. `processes`: some stage is to live in a
/// worker. E0103 names the option that is out of range, E0104 the two that contradict.
expected<void> check_run(const run_options& options, bool processes);

}  // namespace troupe
