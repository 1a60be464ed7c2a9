#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/paths.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/pipeline_engine.hpp>

namespace troupe::testing {

inline const std::string digits = "mnist:" + (data_dir() / "mnist").string();

/// What a run is asked for, in the words of all doors.
struct request {
  run_options run = {.micro_batch = 50, .threads = 1, .limit = 500};
  data_choice data = digits;
  std::vector<metric_choice> metrics = {"accuracy", "cross_entropy"};
  std::vector<eval_sink> sinks = {};
  std::string partition = "parameters";
  std::optional<c10::ScalarType> dtype = std::nullopt;
  evaluation_hooks hooks = {};
  /// At the first report of progress.
  std::optional<stop_kind> stop = std::nullopt;
};

/// A way to run something. Two stages each.
struct door {
  const char* name;
  expected<run_result> (*enter)(const request& asked);
  std::size_t layer_count;
};

/// An evaluation of a model file, a topology, an engine of a file, an engine of layers described in code.
const std::vector<door>& doors();

/// The model of the last one.
pipeline_module layers();

}  // namespace troupe::testing
