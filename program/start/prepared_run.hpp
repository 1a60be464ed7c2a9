#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "program/run/evaluation.hpp"
#include "program/run/started_run.hpp"
#include "program/topology/checked_run.hpp"
#include "runtime/journal/journal_writer.hpp"
#include <troupe/log_record.hpp>
#include <troupe/options.hpp>
#include <troupe/topology.hpp>

namespace troupe {

/// What a public function was asked for, before any check.
struct run_request {
  topology what;
  run_options options;
  /// How the result shows them.
  eval_options config;
  /// The first micro-batch of a run whose source is open; else it is that of the topology's data.
  sample_block first = {};
  /// The result says how many buffers edges got, also where none were asked for.
  bool shows_buffers = false;
};

/// A run with all that can be wrong before it begins behind it: its stages run and wait for the first call.
struct prepared_run {
  /// Resolved.
  std::uint32_t threads = 1;
  started_run stages;
  std::unique_ptr<evaluation> call;
  /// Null without one.
  std::shared_ptr<journal_writer> journal;
};

/// Ends the fork server of a run without workers, which needs its room for threads. Later runs execute their workers.
void end_idle_fork_server(const checked_run& run);

/// See evaluator::create(). Resolves the threads. Looks at `stop` between its steps (E0607).
[[nodiscard]] expected<prepared_run> prepare_run(checked_run run, const log_function& log, const std::stop_token& stop);

/// Starts the stages alone, for calls to come; if any live in workers, all are tried out in another process before.
/// options.threads is resolved. `first` may have no inputs.
[[nodiscard]] expected<started_run> start_stages(const checked_run& run, const sample_block& first,
                                                 std::uint32_t classes, const log_function& log,
                                                 const std::stop_token& stop);

/// The num_pipe_buffers that edges between its stages got where none were asked for.
[[nodiscard]] std::uint32_t buffers_between(const started_run& stages);

/// One call, so far without a journal. Errors: E0803, make_metric().
[[nodiscard]] expected<std::unique_ptr<evaluation>> make_call(const checked_run& run, const data_set_ptr& data);
/// Last of all, when nothing can be refused any more: a run that could not begin leaves no journal behind. Null where
/// none is asked for.
[[nodiscard]] expected<std::shared_ptr<journal_writer>> open_journal(const checked_run& run, const data_set& data,
                                                                     const started_run& stages, evaluation& call);

/// The data set of a topology's source. E0306 for one without samples.
[[nodiscard]] expected<data_set_ptr> open_choice(const data_choice& choice);
/// The first micro-batch of a run.
[[nodiscard]] expected<sample_block> first_block(const data_set& data, const run_options& options);

}  // namespace troupe
