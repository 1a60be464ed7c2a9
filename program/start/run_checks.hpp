#pragma once

#include <cstdint>

#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/topology.hpp>

namespace troupe {

/// In the driver of a launch all stages live in workers, on the slots of its nodes.
void adapt_to_launch(run_options& options, eval_options& config);

/// Checks a request before anything is opened. `troupe eval`, evaluator, run() and pipeline_engine all call it. Errors:
/// E0103 an option is out of range. E0104 two options contradict each other, or worker processes are asked for and
/// main() has made no troupe::program. Those of topology::check(). E0102, E0103 a placement that the launch has no node
/// or slot for. E0504 a placement without a launch.
[[nodiscard]] expected<void> check_run(const topology& what, const run_options& options);

/// Checks that the system has what the run will hold at one time: threads, descriptors, processes and address space
/// (room_of.hpp), before anything is taken. Called after check_run(). `threads`: intra-op threads of a stage that names
/// no number itself; options.threads with the default resolved. A graph that makes no wiring plan passes; the start
/// reports why it makes none. Errors: E0614 with need, supply, and the limit to raise.
[[nodiscard]] expected<void> check_room(const topology& what, const run_options& options, std::uint32_t threads);

}  // namespace troupe
