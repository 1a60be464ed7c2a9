#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "program/evaluation.hpp"
#include "program/evaluator.hpp"
#include "program/model_pipeline.hpp"
#include "runtime/config/eval_options.hpp"
#include "runtime/journal/journal_writer.hpp"

namespace troupe {

/// An evaluation with all that can be wrong before it begins behind it: its stages run and wait for the first call.
struct prepared_run {
  /// What was resolved stands in them.
  eval_options options;
  model_pipeline stages;
  std::unique_ptr<evaluation> call;
  /// Null without one.
  std::shared_ptr<journal_writer> journal;
};

/// Gets log lines of a preparation; from any thread, must not wait.
using log_function = std::function<void(std::string)>;

/// See evaluator::create(). Both look at `stop` between their steps (E0607).
[[nodiscard]] expected<prepared_run> prepare_model_run(eval_options options, const log_function& log,
                                                       const std::stop_token& stop);
/// `resolved`: `options` as those of an evaluation, for the result.
[[nodiscard]] expected<prepared_run> prepare_topology_run(const topology& what, const run_options& options,
                                                          eval_options resolved, const log_function& log,
                                                          const std::stop_token& stop);

/// The data set of a topology's source. E0306 for one without samples.
[[nodiscard]] expected<data_set_ptr> open_choice(const data_choice& choice);
/// Intra-op threads of stages that do not say otherwise: one engine, one core.
[[nodiscard]] std::uint32_t threads_for(const stage_graph& graph);

}  // namespace troupe
