#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "runtime/config/eval_options.hpp"
#include "runtime/metric/metric.hpp"
#include "runtime/trace/trace_event.hpp"

namespace troupe {

/// The result's own proof that every micro-batch was counted exactly once.
struct delivery_report {
  std::uint64_t expected = 0;
  std::uint64_t folded = 0;
  std::uint64_t replayed = 0;
  std::uint64_t duplicates_dropped = 0;
  std::uint64_t lost = 0;
  /// Of the folded ones: taken from the journal of an earlier run.
  std::uint64_t resumed = 0;
};

struct stage_report {
  std::string name;  ///< "stage 0"
  std::uint32_t replica = 0;
  std::vector<std::string> layers;  ///< "0 Conv2d", in order
  double forward_seconds = 0;
  /// Time in forwards and in scoring, of the wall_seconds of the measured part, 0 to 1.
  double busy_fraction = 0;
  std::uint64_t micro_batches = 0;
  /// Behind a route fewer than the micro-batches hold.
  std::uint64_t samples = 0;
};

/// What one sink of a topology scored.
struct sink_report {
  std::string name;
  /// Those that came its way: behind a route not all.
  std::uint64_t samples = 0;
  std::vector<metric_value> metrics;

  /// The metric of that name; throws error_exception (E0102) that lists the names.
  [[nodiscard]] const metric_value& operator[](const std::string& metric) const;
};

/// What a run gives: the content of result.json under exactly these names (schema_version 1, docs/result.md).
///
///   result["accuracy"].value()    result.sink("heads")["per_class_accuracy"].column("value")
///
struct run_result {
  std::string model;
  std::string data;
  std::uint64_t samples = 0;
  std::uint64_t micro_batches = 0;
  /// Of the first sink.
  std::vector<metric_value> metrics;
  /// All of them, in the order they were added.
  std::vector<sink_report> sinks;
  delivery_report delivery;
  std::vector<stage_report> stages;
  /// From the first micro-batch sent to the last folded; loading, optimizing and warm-up lie outside.
  double wall_seconds = 0;
  double samples_per_second = 0;
  /// One object per fault that was injected or survived; none yet.
  std::vector<std::string> faults;
  /// The options that were in force, `threads` resolved.
  eval_options config;
  /// Not everything that was asked for was evaluated (Ctrl-C, deadline); `expected` then counts what was asked for.
  bool partial = false;
  /// Why it is partial or failed.
  std::vector<error> errors;
  /// What the stage engines did, if config.trace asked for it (trace.jsonl, not in result.json).
  std::vector<trace_event> trace;

  /// A metric of the first sink, which is the only one but for topologies with several. Throws error_exception (E0102)
  /// that lists the names.
  [[nodiscard]] const metric_value& operator[](const std::string& metric) const;
  /// What a sink scored; throws as operator[].
  [[nodiscard]] const sink_report& sink(const std::string& name) const;
};

}  // namespace troupe
