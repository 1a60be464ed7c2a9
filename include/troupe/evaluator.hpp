#pragma once

#include <memory>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/result.hpp>
#include <troupe/topology.hpp>

namespace troupe {

/// One more sink behind the model.
struct eval_sink {
  std::string name;
  std::vector<metric_choice> metrics;
  sink_options options = {};
};

/// What an evaluation takes that no flag can say.
struct eval_objects {
  /// In place of eval_options::data, which is empty then; both are E0104.
  data_set_ptr data = nullptr;
  /// Behind those of eval_options::metrics.
  std::vector<metric_ptr> metrics = {};
  /// Behind the sink "metrics".
  std::vector<eval_sink> sinks = {};
};

struct run_request;

/// One evaluation of a model file on a data set, as `troupe eval` does it: load, probe, cut into stages, run, report.
/// One thread at a time may use it, but for request_stop(). evaluation_hooks says on which thread hooks are called.
/// Several evaluators may run in one process at a time; those with worker processes have one topology (program.hpp).
class evaluator {
 public:
  /// Checks `options`, data, model, shapes and partition before anything runs. One real sample passes all layers; with
  /// worker processes it does so in a process of its own, and a crash there is E0215. The deadline counts from this
  /// call. If it passes here, the error is E0605, and a forward that does not return in this process is abandoned
  /// (has_abandoned_threads). Only the deadline stops this call: a program that must end on a signal here ends its
  /// process. In a worker process, and in the one that tries the run out, this call does not return.
  [[nodiscard]] static expected<std::unique_ptr<evaluator>> create(const eval_options& options, evaluation_hooks hooks,
                                                                   const eval_objects& objects = {});

  /// The same for a topology. The first micro-batch passes every stage before anything runs. If any stage has a worker
  /// process, this try-out happens in a process of its own for all stages. The evaluator keeps a copy of `what`; an
  /// abandoned thread may still use objects that its callables refer to.
  [[nodiscard]] static expected<std::unique_ptr<evaluator>> create(const topology& what, const run_options& options,
                                                                   evaluation_hooks hooks);

  evaluator(const evaluator&) = delete;
  evaluator& operator=(const evaluator&) = delete;
  /// Not while run() is executing (request_stop() ends it), and not from a hook. Without run() it stops what create()
  /// has started.
  ~evaluator();

  /// Returns when all samples are counted or the run has stopped, and all its threads and processes have ended. Call it
  /// once: a second call is E0608. A failed evaluation is an error. A stopped run, or one that reached its deadline, is
  /// a result with `partial` set and E0606 or E0605 in `errors`; the cause of an earlier failure stands before that
  /// error.
  [[nodiscard]] expected<run_result> run();

  /// Any thread and any hook may call this, before, during or after run(), any number of times. It does not wait: run()
  /// returns the partial result. `now` after `drain` drops all that is in flight; `drain` after `now` changes
  /// nothing.
  void request_stop(stop_kind kind) noexcept;

  /// After run(): true if a forward or a hook never returned. Its thread runs until the end of the process; leave by
  /// std::_Exit, which does not wait for it. has_abandoned_threads() covers all evaluators.
  [[nodiscard]] bool stuck() const noexcept;

 private:
  struct impl;
  explicit evaluator(std::unique_ptr<impl> state);
  [[nodiscard]] static expected<std::unique_ptr<evaluator>> create_for(run_request request, evaluation_hooks hooks);
  std::unique_ptr<impl> impl_;
};

/// Some thread of this library runs code that is not its own, a model's, a stage's or a hook's, and was left behind as
/// that code did not return in time. A program must not wait for it, nor destroy what it may use: leave by std::_Exit.
[[nodiscard]] bool has_abandoned_threads() noexcept;

/// Creates an evaluator and runs it. Nothing else can stop it: for request_stop(), create an evaluator.
[[nodiscard]] expected<run_result> run(const topology& what, const run_options& options = {},
                                       evaluation_hooks hooks = {});

}  // namespace troupe
