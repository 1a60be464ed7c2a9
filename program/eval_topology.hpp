#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/run_options.hpp"
#include "program/topology.hpp"
#include "runtime/config/eval_options.hpp"

namespace troupe {

/// One more sink behind the model.
struct eval_sink {
  std::string name;
  std::vector<metric_choice> metrics;
};

/// What an evaluation takes that no flag can say.
struct eval_objects {
  /// In place of eval_options::data.
  data_set_ptr data = nullptr;
  /// Behind those of eval_options::metrics.
  std::vector<metric_ptr> metrics = {};
  /// Behind the sink "metrics".
  std::vector<eval_sink> sinks = {};
  /// As cut_options has it.
  std::optional<c10::ScalarType> dtype = std::nullopt;
};

/// What `troupe eval` runs: source "loader", pipeline "stage", sink "metrics".
[[nodiscard]] topology topology_of(const eval_options& options, const eval_objects& objects = {});
[[nodiscard]] run_options run_options_of(const eval_options& options);

/// The way back, for results: what of a run has a place in eval_options.
[[nodiscard]] eval_options config_of(const topology& what, const run_options& options);

}  // namespace troupe
