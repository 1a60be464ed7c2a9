#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "program/run/evaluation.hpp"
#include "program/run/hook_caller.hpp"
#include "program/run/started_run.hpp"
#include <troupe/options.hpp>

namespace troupe {

/// One evaluation as a call of a started run, from its submission to its result: reports, stops, deadline, journal.
class evaluation_run {
 public:
  using clock = std::chrono::steady_clock;
  struct parts {
    started_run stages;
    std::unique_ptr<evaluation> call;
    eval_options config;
    std::shared_ptr<hook_caller> caller;
    /// Null without one.
    std::shared_ptr<journal_writer> journal = nullptr;
    /// Ends the call with a partial result.
    std::optional<clock::time_point> deadline = std::nullopt;
    /// Gives the call up: calls before it may be what does not end. Never where none can be before it.
    std::optional<clock::time_point> patience = std::nullopt;
  };
  explicit evaluation_run(parts given) : parts_(std::move(given)) {}

  /// Once. See evaluator::run(); E0605 when it was given up.
  [[nodiscard]] expected<run_result> run();
  /// From any thread, before or during run(), more than once.
  void request_stop(stop_kind kind) noexcept;

  /// After run(), once its pipeline has stopped: workers may print until their end.
  void log_what_is_left() const;
  /// At any time. Of a pipeline that stops they change until it has: a fault may hit the messages of the stop.
  [[nodiscard]] std::vector<fault_report> fault_reports() const;

  /// After run(): the micro-batches in the pipe were dropped.
  [[nodiscard]] bool was_cancelled() const noexcept { return cancelled_; }
  /// After run(): the end was asked for, by a deadline or request, and no forward in progress is needed any more.
  [[nodiscard]] bool is_in_a_hurry() const noexcept { return cancelled_ && stopped_by_; }

 private:
  [[nodiscard]] running_topology& running() const { return *parts_.stages.running; }
  [[nodiscard]] std::optional<call_outcome> wait(std::future<call_outcome>& outcome);
  void apply_stop_request();
  void apply_deadline();
  /// Where a fault is to fill it.
  void put_disk_below_journal() const;
  [[nodiscard]] std::uint64_t faults_injected() const;
  void log(const report_box::reports& reports) const;
  void report(const report_box::reports& reports, clock::time_point started) const;
  /// In the log, and in run_result::warnings.
  void warn_of_nan(run_result& result) const;
  [[nodiscard]] expected<run_result> conclude(const call_outcome& outcome, const std::vector<stage_usage>& before);

  parts parts_;
  std::atomic<int> stop_asked_{-1};
  int stop_applied_ = -1;
  std::optional<error> stopped_by_;
  bool cancelled_ = false;
};

/// What became of the faults of a run. At any time; see evaluation_run::fault_reports().
[[nodiscard]] std::vector<fault_report> fault_reports_of(running_topology& running);

/// "the deadline of 0.5 s has passed"
[[nodiscard]] error deadline_error(const eval_options& config);

}  // namespace troupe
