#pragma once

#include <functional>
#include <string>

#include "program/evaluator.hpp"
#include "program/probe_report.hpp"
#include "program/topology.hpp"
#include "runtime/config/eval_options.hpp"

namespace troupe {

/// Told what is tried out next, for the message about a crash in it.
using probe_note = std::function<void(const std::string& place)>;

/// This process tries out the run that it would be otherwise, reports to its driver (probe_environment.hpp), and ends.
[[noreturn]] void serve_probe(const std::function<expected<probe_report>(const probe_note& note)>& probe);

/// Of `troupe eval`: reads the model, sends the first micro-batch through its layers, profiles them if that is asked
/// for, and cuts.
[[noreturn]] void serve_model_probe(const eval_options& options);
/// Every stage of a topology computes the first micro-batch.
[[noreturn]] void serve_topology_probe(const topology& what, const run_options& options);

}  // namespace troupe
