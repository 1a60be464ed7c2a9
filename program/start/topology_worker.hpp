#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/workers/serve_worker.hpp"
#include "messages/activation.hpp"
#include "program/run/evaluation.hpp"
#include "runtime/process/worker_environment.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include <troupe/metric.hpp>
#include <troupe/options.hpp>
#include <troupe/topology.hpp>

namespace troupe {

/// What serve_worker() needs to become any stage of the run. It keeps copies of all arguments. `loss`: what eval_batch
/// computes; may be empty. `network`: null where the run has one host. Errors: those of check().
[[nodiscard]] expected<worker_description> describe_worker(const topology& what, const run_options& options,
                                                           loss_function loss = {},
                                                           std::shared_ptr<const node_network> network = nullptr);

/// Turns this process into a worker of the run that it would start as a driver. An invalid topology ends the process
/// (end_worker()).
[[noreturn]] void serve_topology(const worker_environment& environment, const topology& what,
                                 const run_options& options, loss_function loss = {});

/// The scorers of every sink, in their order. Metrics by name get `classes` classes. Errors: make_metric().
[[nodiscard]] expected<std::vector<sink_request>> make_sinks(const topology& what, std::uint32_t classes);

/// Whether the metrics of every sink fit the first micro-batch (metric_scorer::judge): `outputs` are what each node of
/// the plan gave for it, by node and port; a sink whose node gave nothing is not judged. E0108, which names the sink
/// where there are several; errors of make_sinks().
[[nodiscard]] expected<void> judge_sinks(const topology& what, const wiring_plan& plan,
                                         const std::vector<std::vector<activation>>& outputs, std::uint32_t classes);
/// The source has no data set: calls of an engine bring the data.
[[nodiscard]] bool is_open(const topology& what);

/// What driver and workers must agree on beside the plan: models' files and how they are cut, metrics. What callables
/// do cannot be seen.
[[nodiscard]] std::string settings_of(const topology& what);

}  // namespace troupe
