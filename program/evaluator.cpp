#include "program/evaluator.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "messages/limits.hpp"
#include "program/prepared_run.hpp"
#include "program/program.hpp"
#include "program/report_courier.hpp"
#include "program/run_checks.hpp"
#include "program/serve_probe.hpp"
#include "program/side_thread.hpp"
#include "program/topology_worker.hpp"

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;

std::optional<steady::time_point> deadline_of(const eval_options& options, steady::time_point started) {
  if (!options.deadline) return std::nullopt;
  return started + std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(*options.deadline));
}

error deadline_error(const eval_options& options) {
  return {error_code::deadline_passed, "eval", "the deadline of " + std::to_string(*options.deadline) + " s has passed",
          "raise --deadline, or evaluate fewer samples with --limit"};
}

error interrupted_error() {
  return {error_code::interrupted, "eval", "it was interrupted before all samples were evaluated", {}};
}

/// What went wrong beside the stop that was asked for, which a cancelled call has for its cause, too.
std::optional<error> failure_of(const call_outcome& outcome) {
  if (!outcome.cause) return std::nullopt;
  const error_code code = outcome.cause->code;
  if (code == error_code::interrupted || code == error_code::deadline_passed) return std::nullopt;
  return outcome.cause;
}

/// Prepares on a thread of its own, as a model in this process cannot be interrupted.
expected<prepared_run> prepare_in_time(const eval_options& options, const std::optional<steady::time_point>& deadline,
                                       std::function<expected<prepared_run>(const std::stop_token& stop)> prepare) {
  const auto made = std::make_shared<std::optional<expected<prepared_run>>>();
  auto thread = side_thread::start(options.model, [made, prepare = std::move(prepare)](const std::stop_token& stop) {
    try {
      made->emplace(prepare(stop));
    } catch (const std::exception& e) {
      made->emplace(fail(error_code::internal, "preparation", e.what(), "report this with the model"));
    } catch (...) {
      made->emplace(fail(error_code::internal, "preparation", "something threw what is no exception"));
    }
  });
  if (!thread) return tl::make_unexpected(thread.error());
  const bool in_time = thread->has_ended(deadline);
  const bool ended = thread->end_by(steady::now() + limits::preparation_stop_time);
  if (!in_time || !ended) return tl::make_unexpected(deadline_error(options));
  return std::move(**made);
}

eval_options resolved_options(const topology& what, const run_options& options) {
  eval_options resolved;
  resolved.model = "topology";
  resolved.micro_batch = options.micro_batch;
  resolved.limit = options.limit;
  resolved.deadline = options.deadline;
  resolved.trace = options.trace;
  resolved.processes = options.processes || what.wants_any_process();
  resolved.transport = options.transport;
  resolved.worker_timeout = options.worker_timeout;
  resolved.start_deadline = options.start_deadline;
  resolved.forward_deadline = options.forward_deadline;
  return resolved;
}

}  // namespace

struct evaluator::impl {
  /// First, as it is last to go: until then its hooks may get something.
  std::shared_ptr<report_courier> courier;
  std::optional<steady::time_point> deadline;
  prepared_run prepared;
  std::atomic<int> stop_asked{-1};
  bool stuck = false;

  ~impl() { courier->finish(limits::hooks_finish_time); }
  [[nodiscard]] pipeline& running() const { return *prepared.stages.running; }
  void report(const report_box::reports& reports, steady::time_point started) const;
  [[nodiscard]] call_outcome wait(std::future<call_outcome>& outcome, std::optional<error>& stopped_by);
  void heed_stop(std::optional<error>& stopped_by, int& heeded);
  [[nodiscard]] expected<run_result> conclude(const call_outcome& outcome, const std::optional<error>& stopped_by,
                                              const std::vector<stage_usage>& before);
};

expected<std::unique_ptr<evaluator>> evaluator::create_with(const eval_options& options, evaluation_hooks hooks,
                                                            const preparation& prepare) {
  const auto deadline = deadline_of(options, steady::now());
  auto courier = report_courier::start(std::move(hooks));
  if (!courier) return tl::make_unexpected(courier.error());
  auto state = std::make_unique<impl>();
  state->courier = std::move(*courier);
  state->deadline = deadline;
  const log_function log = [to = state->courier](std::string line) { to->put(std::move(line)); };
  auto prepared =
      prepare_in_time(options, deadline, [prepare, log](const std::stop_token& stop) { return prepare(log, stop); });
  if (!prepared) return tl::make_unexpected(prepared.error());
  state->prepared = std::move(*prepared);
  return std::unique_ptr<evaluator>(new evaluator(std::move(state)));
}

expected<std::unique_ptr<evaluator>> evaluator::create(const eval_options& options, evaluation_hooks hooks) {
  return create_with(options, std::move(hooks), [options](const log_function& log, const std::stop_token& stop) {
    return prepare_model_run(options, log, stop);
  });
}

expected<std::unique_ptr<evaluator>> evaluator::create(const topology& what, const run_options& options,
                                                       evaluation_hooks hooks) {
  if (const auto* worker = program::worker()) serve_topology(*worker, what, options);
  if (program::is_probe()) serve_topology_probe(what, options);
  const eval_options resolved = resolved_options(what, options);
  if (auto fine = check_run(options, resolved.processes); !fine) return tl::make_unexpected(fine.error());
  if (auto fine = what.check(); !fine) return tl::make_unexpected(fine.error());
  return create_with(resolved, std::move(hooks),
                     [what, options, resolved](const log_function& log, const std::stop_token& stop) {
                       return prepare_topology_run(what, options, resolved, log, stop);
                     });
}

expected<run_result> run(const topology& what, const run_options& options, evaluation_hooks hooks) {
  auto made = evaluator::create(what, options, std::move(hooks));
  if (!made) return tl::make_unexpected(made.error());
  return (*made)->run();
}

evaluator::evaluator(std::unique_ptr<impl> state) : impl_(std::move(state)) {}
evaluator::~evaluator() = default;
bool evaluator::stuck() const noexcept {
  return impl_->stuck;
}

void evaluator::request_stop(stop_kind kind) noexcept {
  int before = impl_->stop_asked.load();
  const int asked = static_cast<int>(kind);
  while (before < asked && !impl_->stop_asked.compare_exchange_weak(before, asked)) {
  }
  impl_->running().reports().wake();
}

expected<run_result> evaluator::run() {
  pipeline& running = impl_->running();
  const auto before = running.engines().accounts->usage();
  auto future = running.submit(impl_->prepared.call->ticket());
  std::optional<error> stopped_by;
  const call_outcome outcome = impl_->wait(future, stopped_by);
  auto result = impl_->conclude(outcome, stopped_by, before);
  const auto kept = impl_->prepared.journal ? impl_->prepared.journal->close() : expected<void>{};
  if (result && !kept) result->errors.push_back(kept.error());
  // Only a deadline or a second Ctrl-C has no time for the forwards in progress.
  const bool in_a_hurry = outcome.tally.cancelled && stopped_by;
  impl_->stuck = !running.stop(outcome.tally.cancelled ? stop_mode::abort : stop_mode::drain,
                               in_a_hurry ? limits::stop_timeout_in_a_hurry : limits::stop_timeout);
  if (impl_->stuck) count_abandoned_thread();
  if (impl_->stuck && result) {
    result->errors.push_back(
        {error_code::stage_unresponsive, "eval", "a stage did not come back from its forward", {}});
  }
  if (result && impl_->prepared.options.trace && !impl_->stuck) {
    auto trace = trace_of(running.engines());
    if (trace) result->trace = std::move(*trace);
    if (!trace) result = tl::make_unexpected(trace.error());
  }
  if (!impl_->courier->finish(limits::hooks_finish_time)) impl_->stuck = true;
  return result;
}

call_outcome evaluator::impl::wait(std::future<call_outcome>& outcome, std::optional<error>& stopped_by) {
  const auto started = steady::now();
  int heeded = -1;
  while (outcome.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
    heed_stop(stopped_by, heeded);
    std::chrono::nanoseconds patience = limits::report_interval;
    if (deadline && !stopped_by)
      patience = std::clamp<std::chrono::nanoseconds>(*deadline - steady::now(), {}, patience);
    running().look_after();
    report(running().reports().take(patience), started);
    if (deadline && steady::now() >= *deadline && (!stopped_by || stopped_by->code != error_code::deadline_passed)) {
      stopped_by = deadline_error(prepared.options);
      running().cancel(prepared.call->ticket(), *stopped_by);
    }
  }
  report(running().reports().take({}), started);
  return outcome.get();
}

void evaluator::impl::heed_stop(std::optional<error>& stopped_by, int& heeded) {
  const int asked = stop_asked.load();
  if (asked <= heeded) return;
  heeded = asked;
  if (!stopped_by) stopped_by = interrupted_error();
  if (asked == static_cast<int>(stop_kind::drain)) {
    running().cut_calls();
  } else {
    running().cancel(prepared.call->ticket(), *stopped_by);
  }
}

void evaluator::impl::report(const report_box::reports& reports, steady::time_point started) const {
  if (reports.lines_lost > 0) courier->lost(reports.lines_lost);
  for (const std::string& line : reports.log_lines) courier->put(line);
  if (!reports.progress) return;
  const evaluation& call = *prepared.call;
  const double seconds = std::chrono::duration<double>(steady::now() - started).count();
  const std::uint64_t done = call.samples_in(reports.progress->folded);
  const std::uint64_t done_now = done - std::min(done, call.samples_in(call.micro_batches_resumed()));
  courier->put({.samples_done = done,
                .samples_total = call.samples_asked(),
                .micro_batches_done = reports.progress->folded,
                .samples_per_second = seconds > 0 ? static_cast<double>(done_now) / seconds : 0.0});
}

expected<run_result> evaluator::impl::conclude(const call_outcome& outcome, const std::optional<error>& stopped_by,
                                               const std::vector<stage_usage>& before) {
  if (outcome.cause && !stopped_by) return tl::make_unexpected(*outcome.cause);
  run_result result = prepared.call->result(outcome);
  result.model = prepared.options.model;
  result.config = prepared.options;
  const assembly& engines = running().engines();
  result.stages =
      stage_reports(*engines.accounts, before, engines.accounts->usage(), result.wall_seconds, prepared.stages.layers);
  if (const auto failed = failure_of(outcome)) {
    result.partial = true;
    result.errors.push_back(*failed);
  }
  if (result.partial && stopped_by) result.errors.push_back(*stopped_by);
  if (result.delivery.lost > 0) {
    result.errors.push_back({error_code::work_lost, "eval",
                             std::to_string(result.delivery.lost) + " micro-batches were lost", "report this"});
  }
  return result;
}

}  // namespace troupe
