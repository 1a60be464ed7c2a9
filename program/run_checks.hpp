#pragma once

#include "messages/error.hpp"
#include "program/evaluator.hpp"

namespace troupe {

/// Whether the options of a run are in range and do not contradict each other. `processes`: some stage is to live in a
/// worker. E0103 names the option that is out of range, E0104 the two that contradict.
expected<void> check_run(const run_options& options, bool processes);

/// Whether the system gives what such a run holds at the same time (room_of.hpp); before any part is made. E0614.
/// A graph that cannot be expanded passes: what expands it for the run says why not.
expected<void> check_room(const eval_options& options);
expected<void> check_room(const topology& what, const run_options& options, std::uint32_t threads);

}  // namespace troupe
