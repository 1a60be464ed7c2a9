#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "messages/limits.hpp"
#include "program/models/state_file.hpp"
#include "program/run/evaluation_run.hpp"
#include "program/run/hook_caller.hpp"
#include "program/run/run_log.hpp"
#include "program/run/started_run.hpp"
#include "program/topology/checked_run.hpp"
#include "runtime/data/iterator_source.hpp"
#include "runtime/metric/loss.hpp"
#include <troupe/pipeline_engine.hpp>

namespace troupe {

struct pipeline_engine::impl {
  explicit impl(checked_run made) : checked(std::move(made)) {}
  /// Its threads are resolved.
  checked_run checked;
  std::optional<model_source> model;
  /// How results show the options.
  eval_options config;
  pipeline_engine_options options;
  loss_function loss;
  /// The first micro-batch of a start, with the sample of the options.
  sample_block first;
  /// The log of its options, with the thread that delivers it from create() to the end.
  std::optional<run_log> log;
  std::shared_ptr<hook_caller> caller;
  /// An evaluation is under way whose hook gets the log in place of stderr.
  std::shared_ptr<std::atomic<bool>> is_hook_in_place = std::make_shared<std::atomic<bool>>(false);
  started_run stages;
  /// Of the run before its stages were started; tells a file that has changed since.
  std::uint64_t fingerprint = 0;
  /// The weights that worker processes have loaded, as long as there may be any.
  std::optional<state_file> weights;
  /// Those that may not have ended.
  std::vector<std::shared_future<call_outcome>> open_calls;
  bool is_finished = false;
  /// Guards what request_stop() finds, and `stages` where others take their place.
  std::mutex mutex;
  evaluation_run* evaluating = nullptr;
  /// Whether an evaluation that begins is to end, as request_stop() came when there was none yet. May be empty.
  std::function<std::optional<stop_kind>()> stop_asked = nullptr;

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl() {
    stages.running.reset();  // workers may print until their end
    log.reset();             // the hooks' thread tells of repeats that are left
    if (caller) caller->finish(limits::hooks_finish_time);
  }

  void deliver_log();
  /// `of`: its own run, or that with other metrics.
  [[nodiscard]] expected<run_result> evaluate(const checked_run& of, const data_choice& choice, evaluation_hooks hooks,
                                              std::optional<std::vector<std::string>> told = std::nullopt);
  [[nodiscard]] call_ticket_ptr make_ticket(const std::shared_ptr<loss_fold>& fold,
                                            const std::shared_ptr<iterator_source>& source,
                                            const eval_batch_options& call) const;
  [[nodiscard]] expected<run_result> run_noted(evaluation_run& run, bool is_hook_alone);
  /// The weights that the stages have, before a cast to options.dtype.
  [[nodiscard]] expected<model_weights> weights_now() const;
  /// Starts the stages again with these weights, behind all open calls. Errors leave the ones before.
  [[nodiscard]] expected<void> exchange(state_dict fitted);
  void wait_for_calls();
  /// What a start that fails is undone with.
  [[nodiscard]] expected<void> keep_built_weights();
  /// Starts stages in the place of those that have stopped.
  [[nodiscard]] expected<void> start(const checked_run& run);
  void set_evaluating(evaluation_run* run) {
    const std::lock_guard lock(mutex);
    evaluating = run;
  }
};

}  // namespace troupe
