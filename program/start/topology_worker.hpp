#pragma once

#include <memory>

#include "actors/workers/serve_worker.hpp"
#include "program/topology/checked_run.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// What serve_worker() needs to become any stage of the run. `loss`: what eval_batch computes; may be empty. `network`:
/// null where the run has one host.
[[nodiscard]] worker_description describe_worker(checked_run run, loss_function loss = {},
                                                 std::shared_ptr<const node_network> network = nullptr);

/// Turns this process, which is a worker (process_context::worker), into one of the run that it would start as a
/// driver. A topology that fails its checks ends the process (end_worker()).
[[noreturn]] void serve_topology(const topology& what, const run_options& options, const process_context& process,
                                 loss_function loss = {});

}  // namespace troupe
