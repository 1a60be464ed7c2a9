#pragma once

#include <cstdint>
#include <vector>

#include "messages/activation.hpp"
#include "program/run/evaluation.hpp"
#include "program/topology/checked_run.hpp"
#include <troupe/data_set.hpp>
#include <troupe/metric.hpp>

namespace troupe {

/// Objects for metrics by name, which get `classes` classes, and those that are objects already. Errors: make_metric();
/// E0103 for an object where `intervals` are asked for.
[[nodiscard]] expected<std::vector<metric_ptr>> make_metrics(const std::vector<metric_choice>& choices,
                                                             std::uint32_t classes, const interval_options& intervals);

/// What keeps the predictions of a sink; null where none are asked for, or where a metric has them. E0103 for a file of
/// another kind.
[[nodiscard]] expected<metric_ptr> make_predictions(const prediction_options& asked);

/// What each sink scores, in the order of the plan; in the driver, by the data's own metrics where there are such.
/// Errors: make_metric().
[[nodiscard]] expected<std::vector<sink_request>> make_sinks(const checked_run& run, const data_set& data);
/// The same without the data.
[[nodiscard]] expected<std::vector<sink_request>> make_sinks(const checked_run& run, std::uint32_t classes);

/// Whether the metrics of every sink fit the first micro-batch (metric_scorer::judge): `outputs` are what each node of
/// the plan gave for it, by node and port; a sink whose node gave nothing is not judged. E0108, which names the sink
/// where there are several; errors of make_sinks().
[[nodiscard]] expected<void> judge_sinks(const checked_run& run, const std::vector<std::vector<activation>>& outputs,
                                         std::uint32_t classes);

}  // namespace troupe
