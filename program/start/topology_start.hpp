#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "messages/worker.hpp"
#include "program/models/spare_models.hpp"
#include "program/run/started_run.hpp"
#include "program/start/probe_report.hpp"
#include "program/start/topology_probe.hpp"
#include "program/topology/stage_devices.hpp"
#include <troupe/data_set.hpp>
#include <troupe/options.hpp>
#include <troupe/topology.hpp>

namespace troupe {

class nursery;

struct topology_start_options {
  /// Threads, trace, journal and workers of them count here; threads are resolved.
  run_options run = {};
  /// The classes of the data set, for metrics by name in the try-out.
  std::uint32_t classes = 0;
  /// What probe_topology() said, in another process. Nothing is tried out here then.
  std::optional<probe_report> report = std::nullopt;
  /// The nursery of this program, for workers of this host; null: they are executed.
  std::shared_ptr<nursery> from = nullptr;
  /// Gets a record for each injected fault; may be null.
  log_function log = nullptr;
  /// Ends the preparation between stages and layers, with E0607.
  std::stop_token stop = {};
};

/// The one way in which anything starts: makes the stages of a topology, tries them out on its first micro-batch
/// (topology_probe), cuts its pipelines by what arrives there, and starts the run. Errors: those of check() and of
/// topology_probe; E0614. Without inputs in `first` nothing is tried out, and pipelines are cut without a sample. With
/// options.report the stages of this process are made and not tried, and those of workers are not even made. E0702 for
/// a report of something else.
expected<started_run> start_topology(const topology& what, const topology_start_options& options,
                                     const sample_block& first);

/// The first half of start_topology(), for a driver in another process. Threads and journal of the options count here;
/// threads are resolved.
expected<probe_report> probe_topology(const topology& what, const run_options& options, std::uint32_t classes,
                                      const sample_block& first, const probe_note& note);

/// The body that an assignment speaks of, in a worker: what start_topology() makes in one process. Of the model that
/// `spare` has, if it has it.
expected<std::shared_ptr<stage_body>> make_assigned_body(const topology& what, const wiring_plan& plan,
                                                         device_layout layout, const worker_assignment& to,
                                                         const payload_ptr& warm_up, spare_models& spare);

/// In a worker without a stage: the models of all pipelines that come from files.
void prepare_pipelines(const topology& what, spare_models& spare);

}  // namespace troupe
