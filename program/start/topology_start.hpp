#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "program/run/started_run.hpp"
#include "program/start/probe_report.hpp"
#include "program/start/topology_probe.hpp"
#include "program/topology/checked_run.hpp"
#include <troupe/data_set.hpp>
#include <troupe/options.hpp>

namespace troupe {

struct topology_start_options {
  /// The classes of the data set, for metrics by name in the try-out.
  std::uint32_t classes = 0;
  /// What probe_topology() said, in another process. Nothing is tried out here then.
  std::optional<probe_report> report = std::nullopt;
  /// Gets a record for each injected fault; may be null.
  log_function log = nullptr;
  /// Ends the preparation between stages and layers, with E0607.
  std::stop_token stop = {};
};

/// The one way in which anything starts: makes the stages of a topology, tries them out on its first micro-batch
/// (topology_probe), cuts its pipelines by what arrives there, and starts the run. Errors: those of topology_probe;
/// E0614. Without inputs in `first` nothing is tried out, and pipelines are cut without a sample. With
/// options.report the stages of this process are made and not tried, and those of workers are not even made. E0702 for
/// a report of something else.
expected<started_run> start_topology(const checked_run& run, const topology_start_options& options,
                                     const sample_block& first);

/// The first half of start_topology(), for a driver in another process.
expected<probe_report> probe_topology(const checked_run& run, std::uint32_t classes, const sample_block& first,
                                      const probe_note& note);

}  // namespace troupe
