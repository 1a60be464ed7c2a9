#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/metric.hpp>
#include <troupe/options.hpp>
#include <troupe/trace_event.hpp>

namespace troupe {

/// Counts that prove that every micro-batch was counted exactly once.
struct delivery_report {
  std::uint64_t expected = 0;
  std::uint64_t folded = 0;
  /// Micro-batches that were sent again after a loss.
  std::uint64_t replayed = 0;
  /// Results that came again for a micro-batch that was folded before; they were not counted.
  std::uint64_t duplicates_dropped = 0;
  std::uint64_t lost = 0;
  /// Folded micro-batches that came from the journal of an earlier run.
  std::uint64_t resumed = 0;
};

struct stage_report {
  std::string name;  ///< "stage 0"
  std::uint32_t replica = 0;
  std::vector<std::string> layers;  ///< "0 Conv2d", in order
  std::chrono::nanoseconds forward_time{0};
  /// Time in forward passes and scoring over run_result::wall_time, 0 to 1.
  double busy_fraction = 0;
  std::uint64_t micro_batches = 0;
  /// Samples that this replica computed; behind a route fewer than its micro-batches have.
  std::uint64_t samples = 0;
};

/// What became of one fault of run_options::faults.
struct fault_report {
  /// As --fault spells it.
  std::string fault;
  /// How often it was injected, as far as its driver knows. 0: its moment did not come.
  std::uint64_t times = 0;
  /// The time of the first injection, since the first micro-batch was sent.
  std::optional<std::chrono::nanoseconds> after = std::nullopt;
  /// Index of the micro-batch that it hit first.
  std::optional<std::uint64_t> micro_batch = std::nullopt;
  /// From the loss that it caused until the run was whole again. Nothing: it caused no loss.
  std::optional<std::chrono::nanoseconds> recovery_time = std::nullopt;
  /// Micro-batches that were sent again for it.
  std::uint64_t replayed = 0;
  /// Results that came a second time, after its recovery and before the next one.
  std::uint64_t duplicates_dropped = 0;
  /// Why it was not injected though its moment came.
  std::optional<std::string> note = std::nullopt;
};

/// The result of one sink.
struct sink_report {
  std::string name;
  /// Samples that reached the sink; behind a route not all.
  std::uint64_t samples = 0;
  std::vector<metric_value> metrics;
  /// Samples with NaN among the outputs that were scored, and with an infinity among them; one may have both.
  std::uint64_t samples_with_nan = 0;
  std::uint64_t samples_with_infinity = 0;

  /// The metric of that name. An unknown name throws error_exception (E0102), which lists the names.
  [[nodiscard]] const metric_value& operator[](const std::string& metric) const;
};

/// The result of a run: the content of result.json with these names (schema_version 2, docs/result.md).
///
///   result["accuracy"].value()    result.sink("heads")["per_class_accuracy"].column("value")
///
struct run_result {
  /// The file as it was given; "topology" of a run that was built in code.
  std::string model;
  /// data_set::name().
  std::string data;
  /// data_set::left_out().
  std::uint64_t left_out = 0;
  std::uint64_t samples = 0;
  std::uint64_t micro_batches = 0;
  /// The first sink's.
  std::uint64_t samples_with_nan = 0;
  std::uint64_t samples_with_infinity = 0;
  /// The first sink's metrics.
  std::vector<metric_value> metrics;
  /// All sinks, in the order of addition.
  std::vector<sink_report> sinks;
  delivery_report delivery;
  std::vector<stage_report> stages;
  /// By pipeline, the partition method that cut it: the one asked for, or what "auto" became.
  std::map<std::string, std::string> cut_by;
  /// For each pipeline, what the bits of a sample's outputs may depend on, beside the sample, the model and the
  /// processor: "nothing", or "the micro-batch size (OPERATOR in LAYER)" (docs/models.md).
  std::map<std::string, std::string> bits_depend_on;
  /// Pipelines that run as they stand although `optimize` asks for a rewritten model (docs/models.md), by name.
  std::vector<std::string> plain_pipelines;
  /// What the user should know before trusting the numbers, in sentences for people; mostly empty.
  std::vector<std::string> warnings;
  /// From the first micro-batch sent to the last folded; without loading, optimizing and warm-up.
  std::chrono::nanoseconds wall_time{0};
  double samples_per_second = 0;
  /// In the order of the plan.
  std::vector<fault_report> faults;
  /// The options in force, with `threads` resolved. Of a topology, `run` alone was asked for; the rest are defaults.
  eval_options config;
  /// true: the evaluation is incomplete (Ctrl-C, deadline). delivery.expected counts the requested micro-batches.
  bool partial = false;
  /// Causes of a partial result.
  std::vector<error> errors;
  /// Instructions of the stage engines, if config.run.trace is set (trace.jsonl; not in result.json). Empty in what
  /// pipeline_engine::evaluate() gives: its stages go on, and finish() gives the trace of all calls.
  std::vector<trace_event> trace;

  /// A metric of the first sink. An unknown name throws error_exception (E0102), which lists the names.
  [[nodiscard]] const metric_value& operator[](const std::string& metric) const;
  /// The report of a sink. Throws like operator[].
  [[nodiscard]] const sink_report& sink(const std::string& name) const;
};

struct json_report {
  /// One JSON object with a final newline and the names of docs/result.md, schema_version 2. Reading a number gives the
  /// same bits. NaN and infinities are the strings "NaN", "Infinity" and "-Infinity".
  std::string text;
  /// One line for each value that became such a string.
  std::vector<std::string> warnings;
};

json_report result_json(const run_result& result);
/// Metrics alone, as `troupe score` prints them: {"metrics": {"squad": {"exact_match": 81.2, ...}}}.
json_report scores_json(const std::vector<metric_value>& metrics);

/// The result as a table for people: metrics, rate, and per stage layers, busy share and micro-batches. Lines have at
/// most `width` columns (at least 40); an ellipsis shortens lists of layers. The text ends with a newline.
std::string result_table(const run_result& result, std::size_t width);

/// Where two results of one evaluation differ first: "metrics.accuracy.correct: 9904 and 9903". Compares samples,
/// micro-batches, completeness and the metrics of all sinks, reals to the last bit; neither times nor delivery. Nothing
/// where they are equal.
std::optional<std::string> first_difference(const run_result& a, const run_result& b);

}  // namespace troupe
