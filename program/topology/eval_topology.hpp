#pragma once

#include <optional>

#include <troupe/evaluator.hpp>

namespace troupe {

/// What `troupe eval` runs: source "loader", pipeline "stage", sink "metrics".
[[nodiscard]] topology topology_of(const eval_options& options, const eval_objects& objects = {});

/// The model that the options name, and what it is called in results: the file of the model or of the weights.
[[nodiscard]] model_source model_of(const eval_options& options);
[[nodiscard]] const std::string& model_name(const eval_options& options);

/// How the options cut it.
[[nodiscard]] cut_options cut_options_of(const eval_options& options);

/// The type that eval_options::dtype names, which is one of the table of options; nothing for "auto".
[[nodiscard]] std::optional<c10::ScalarType> dtype_of(const eval_options& options);

/// The way back, for results: what of a run has a place in eval_options.
[[nodiscard]] eval_options config_of(const topology& what, const run_options& options);

}  // namespace troupe
