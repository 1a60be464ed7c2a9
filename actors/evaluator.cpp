#include <algorithm>
#include <utility>

#include <troupe/actors/evaluation.hpp>
#include <troupe/actors/evaluator.hpp>
#include <troupe/actors/model_pipeline.hpp>
#include <troupe/messages/limits.hpp>
#include <troupe/runtime/data/data_set.hpp>
#include <troupe/runtime/engine/engine_thread.hpp>

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

expected<std::vector<metric_ptr>> make_metrics(const std::vector<std::string>& names, std::uint32_t classes) {
  std::vector<metric_ptr> metrics;
  for (const std::string& name : names) {
    auto made = make_metric(name, classes);
    if (!made) return tl::make_unexpected(made.error());
    metrics.push_back(std::move(*made));
  }
  return metrics;
}

}  // namespace

struct evaluator::impl {
  eval_options options;
  evaluation_hooks hooks;
  std::optional<steady::time_point> deadline;
  model_pipeline stages;
  std::unique_ptr<evaluation> call;
  std::atomic<int> stop_asked{-1};
  bool stuck = false;

  void report(const report_box::reports& reports, steady::time_point started) const;
  [[nodiscard]] call_outcome wait(std::future<call_outcome>& outcome, std::optional<error>& stopped_by);
  void heed_stop(std::optional<error>& stopped_by, int& heeded);
  [[nodiscard]] expected<run_result> conclude(const call_outcome& outcome, const std::optional<error>& stopped_by,
                                              const std::vector<stage_usage>& before);
};

expected<std::unique_ptr<evaluator>> evaluator::create(const eval_options& options, evaluation_hooks hooks) {
  auto state = std::make_unique<impl>();
  state->options = options;
  state->options.threads = resolve_threads(options, usable_cores());
  state->hooks = std::move(hooks);
  state->deadline = deadline_of(options, steady::now());
  const auto too_late = [&] { return state->deadline && steady::now() >= *state->deadline; };

  auto data = open_data(options.data);
  if (!data) return tl::make_unexpected(data.error());
  auto chain = load_chain(options.model);
  if (!chain) return tl::make_unexpected(chain.error());
  if (too_late()) return tl::make_unexpected(deadline_error(options));
  auto metrics = make_metrics(options.metrics, (*data)->classes());
  if (!metrics) return tl::make_unexpected(metrics.error());
  state->call =
      std::make_unique<evaluation>(evaluation_request{*data, options.micro_batch, options.limit, std::move(*metrics)});

  const std::uint64_t first = std::min(options.micro_batch, state->call->samples_asked());
  auto sample = (*data)->read({0, first});
  if (!sample) return tl::make_unexpected(sample.error());
  const model_pipeline_options pipeline_options{.stages = options.stages,
                                                .replicas = options.replicas,
                                                .threads = *state->options.threads,
                                                .optimize = options.optimize,
                                                .partition = options.partition,
                                                .num_pipe_buffers = options.num_pipe_buffers,
                                                .trace = options.trace};
  auto stages = start_model_pipeline(*chain, pipeline_options, sample->inputs);
  if (!stages) return tl::make_unexpected(stages.error());
  state->stages = std::move(*stages);
  return std::unique_ptr<evaluator>(new evaluator(std::move(state)));
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
  impl_->stages.running->reports().wake();
}

expected<run_result> evaluator::run() {
  pipeline& running = *impl_->stages.running;
  const auto before = usage_of(running.engines());
  auto future = running.submit(impl_->call->ticket());
  std::optional<error> stopped_by;
  const call_outcome outcome = impl_->wait(future, stopped_by);
  auto result = impl_->conclude(outcome, stopped_by, before);
  // Only a deadline or a second Ctrl-C has no time for the forwards in progress.
  const bool in_a_hurry = outcome.tally.cancelled && stopped_by;
  impl_->stuck = !running.stop(outcome.tally.cancelled ? stop_mode::abort : stop_mode::drain,
                               in_a_hurry ? limits::stop_timeout_in_a_hurry : limits::stop_timeout);
  if (impl_->stuck && result) {
    result->errors.push_back(
        {error_code::stage_unresponsive, "eval", "a stage did not come back from its forward", {}});
  }
  if (result && impl_->options.trace && !impl_->stuck) {
    auto trace = trace_of(running.engines());
    if (!trace) return tl::make_unexpected(trace.error());
    result->trace = std::move(*trace);
  }
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
    report(stages.running->reports().take(patience), started);
    if (deadline && steady::now() >= *deadline && (!stopped_by || stopped_by->code != error_code::deadline_passed)) {
      stopped_by = deadline_error(options);
      stages.running->cancel(call->ticket(), *stopped_by);
    }
  }
  report(stages.running->reports().take({}), started);
  return outcome.get();
}

void evaluator::impl::heed_stop(std::optional<error>& stopped_by, int& heeded) {
  const int asked = stop_asked.load();
  if (asked <= heeded) return;
  heeded = asked;
  if (!stopped_by) stopped_by = interrupted_error();
  if (asked == static_cast<int>(stop_kind::drain)) {
    stages.running->cut_calls();
  } else {
    stages.running->cancel(call->ticket(), *stopped_by);
  }
}

void evaluator::impl::report(const report_box::reports& reports, steady::time_point started) const {
  if (hooks.on_log) {
    for (const std::string& line : reports.log_lines) hooks.on_log(line);
  }
  if (!hooks.on_progress || !reports.progress) return;
  const double seconds = std::chrono::duration<double>(steady::now() - started).count();
  hooks.on_progress(
      {.samples_done = reports.progress->samples,
       .samples_total = call->samples_asked(),
       .micro_batches_done = reports.progress->folded,
       .samples_per_second = seconds > 0 ? static_cast<double>(reports.progress->samples) / seconds : 0.0});
}

expected<run_result> evaluator::impl::conclude(const call_outcome& outcome, const std::optional<error>& stopped_by,
                                               const std::vector<stage_usage>& before) {
  if (outcome.cause && !stopped_by) return tl::make_unexpected(*outcome.cause);
  run_result result = call->result(outcome);
  result.model = options.model;
  result.config = options;
  const assembly& engines = stages.running->engines();
  result.stages = stage_reports(engines, before, usage_of(engines), result.wall_seconds, stages.layers);
  if (result.partial && stopped_by) result.errors.push_back(*stopped_by);
  if (result.delivery.lost > 0) {
    result.errors.push_back({error_code::work_lost, "eval",
                             std::to_string(result.delivery.lost) + " micro-batches were lost", "report this"});
  }
  return result;
}

}  // namespace troupe
