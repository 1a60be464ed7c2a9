#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "messages/worker.hpp"
#include "program/model_pipeline.hpp"
#include "program/spare_models.hpp"
#include "program/topology.hpp"
#include "runtime/data/data_set.hpp"

namespace troupe {

struct topology_start_options {
  /// Intra-op threads of stages that do not say otherwise, resolved.
  std::uint32_t threads = 1;
  /// Of the data set, for metrics by name.
  std::uint32_t classes = 0;
  bool trace = false;
  transport_kind transport = transport_kind::automatic;
  /// Where some or all stages run in worker processes.
  std::optional<worker_options> workers = std::nullopt;
  /// All of them; otherwise those that say so themselves.
  bool all_in_processes = false;
  /// With `workers`: what try_topology() said, in another process. Nothing is tried out here then.
  std::optional<probe_report> report = std::nullopt;
  /// Ends the preparation between stages and layers, with E0607.
  std::stop_token stop = {};
};

/// Makes the stages of a checked topology, sends its first micro-batch through one copy of each, in this order and on
/// one thread, cuts its pipelines by what arrives there, and starts the run. Errors: those of check(); what a factory
/// throws and what a stage says of the first micro-batch (E0602, naming the stage); E0108 a metric that does not fit
/// what the stages make of it; those of load_chain and cut().
/// A stage that gets no sample of the first micro-batch is not tried; a pipeline there is cut by `parameters` where it
/// asks for `profile`. With options.report the stages of this process are made and not tried, and those of workers are
/// not even made. E0702 for a report of something else.
expected<model_pipeline> start_topology(const topology& what, const topology_start_options& options,
                                        const sample_block& first);

/// The first half of it, for a driver in another process: makes every stage and tries it out. `note` is told which one
/// is next.
expected<probe_report> try_topology(const topology& what, std::uint32_t threads, std::uint32_t classes,
                                    const sample_block& first,
                                    const std::function<void(const std::string& node)>& note);

/// The body that an assignment speaks of, in a worker: what start_topology() makes in one process. Of the model that
/// `spare` has, if it has it.
expected<std::shared_ptr<stage_body>> make_assigned_body(const topology& what, const wiring_plan& plan,
                                                         const worker_assignment& to, const payload_ptr& warm_up,
                                                         spare_models& spare);

/// In a worker without a stage: the models of all pipelines that come from files.
void prepare_pipelines(const topology& what, spare_models& spare);

}  // namespace troupe
