#pragma once

#include <cstdint>
#include <string>

#include "program/topology/checked_run.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/topology.hpp>

namespace troupe {

/// In the driver of a launch all stages live in workers, on the slots of its nodes.
void adapt_to_launch(run_options& options, eval_options& config, const process_context& process);

/// The description of a run, after all checks that open nothing: `troupe eval`, evaluator, run() and pipeline_engine
/// all get theirs here. `name` stands for the run in errors. Errors: E0103 an option is out of range. E0104 two options
/// contradict each other, or worker processes are asked for and main() has made no troupe::program. Those of
/// checked_run::make(). E0102, E0103 a placement that the launch has no node or slot for. E0504 a placement without a
/// launch.
[[nodiscard]] expected<checked_run> check_run(const topology& what, const run_options& options,
                                              const process_context& process, std::string name = "topology");

/// Checks that the system has what the run will hold at one time: threads, descriptors, processes and address space
/// (resource_needs.hpp), before anything is taken. options.threads is resolved. Errors: E0614 with need, supply, and
/// the limit to raise.
[[nodiscard]] expected<void> check_resources(const checked_run& run);

}  // namespace troupe
