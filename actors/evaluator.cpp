#include <algorithm>
#include <utility>

#include <troupe/actors/evaluation.hpp>
#include <troupe/actors/evaluator.hpp>
#include <troupe/actors/journal_pins.hpp>
#include <troupe/actors/model_pipeline.hpp>
#include <troupe/actors/model_worker.hpp>
#include <troupe/actors/program.hpp>
#include <troupe/actors/run_checks.hpp>
#include <troupe/actors/topology_start.hpp>
#include <troupe/actors/topology_worker.hpp>
#include <troupe/messages/limits.hpp>
#include <troupe/runtime/data/data_set.hpp>
#include <troupe/runtime/engine/engine_thread.hpp>
#include <troupe/runtime/journal/open_journal.hpp>

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

expected<data_set_ptr> open_choice(const data_choice& choice) {
  if (const auto* specification = std::get_if<std::string>(&choice)) return open_data(*specification);
  const auto& data = std::get<data_set_ptr>(choice);
  if (data == nullptr || data->size() == 0) {
    return fail(error_code::data_empty, "source", "there is no sample to evaluate",
                "give the source a data set with samples");
  }
  return data;
}

std::optional<worker_options> workers_of(const eval_options& options, const data_set& data, std::string settings) {
  if (!options.processes) return std::nullopt;
  using std::chrono::duration;
  worker_options workers{
      .silence_timeout = std::chrono::ceil<std::chrono::milliseconds>(duration<double>(options.worker_timeout)),
      .start_deadline = std::chrono::ceil<std::chrono::milliseconds>(duration<double>(options.start_deadline)),
      .tcp_edges = options.transport == transport_kind::tcp,
      .classes = data.classes(),
      .settings = std::move(settings)};
  if (options.forward_deadline) {
    workers.forward_deadline = std::chrono::ceil<std::chrono::nanoseconds>(duration<double>(*options.forward_deadline));
  }
  return workers;
}

/// One engine, one core.
std::uint32_t threads_for(const stage_graph& graph) {
  std::uint32_t engines = 0;
  for (const graph_node& node : graph.nodes()) {
    if (node.kind == node_kind::stage) engines += node.replicas;
  }
  return std::max(1u, usable_cores() / std::max(1u, engines));
}

/// sink_request::has_parts.
expected<void> mark_parts(std::vector<sink_request>& sinks, const stage_graph& graph) {
  return expand(graph).map([&](const wiring_plan& plan) {
    const std::vector<bool> parts = nodes_with_parts(plan);
    for (std::size_t sink = 0; sink < sinks.size(); ++sink) sinks[sink].has_parts = parts[plan.sinks[sink].stage];
  });
}

}  // namespace

struct evaluator::impl {
  eval_options options;
  evaluation_hooks hooks;
  std::optional<steady::time_point> deadline;
  model_pipeline stages;
  std::unique_ptr<evaluation> call;
  /// Null without one.
  std::shared_ptr<journal_writer> journal;
  std::atomic<int> stop_asked{-1};
  bool stuck = false;

  [[nodiscard]] expected<void> open_journal(const data_set& data);
  void report(const report_box::reports& reports, steady::time_point started) const;
  [[nodiscard]] call_outcome wait(std::future<call_outcome>& outcome, std::optional<error>& stopped_by);
  void heed_stop(std::optional<error>& stopped_by, int& heeded);
  [[nodiscard]] expected<run_result> conclude(const call_outcome& outcome, const std::optional<error>& stopped_by,
                                              const std::vector<stage_usage>& before);
};

expected<std::unique_ptr<evaluator>> evaluator::create(const eval_options& options, evaluation_hooks hooks) {
  auto state = std::make_unique<impl>();
  state->options = options;
  state->options.threads = threads_of(options, usable_cores());
  state->hooks = std::move(hooks);
  state->deadline = deadline_of(options, steady::now());
  if (!options.journal.empty()) {
    if (auto fine = check_journal(options.journal, options.resume); !fine) return tl::make_unexpected(fine.error());
  }
  if (auto room = check_room(state->options); !room) return tl::make_unexpected(room.error());
  const auto too_late = [&] { return state->deadline && steady::now() >= *state->deadline; };

  auto data = open_data(options.data);
  if (!data) return tl::make_unexpected(data.error());
  const std::string settings = settings_of(options);  // before it is read: workers refuse what came later
  auto chain = load_chain(options.model, {.allow_effects = options.allow_effects});
  if (!chain) return tl::make_unexpected(chain.error());
  if (too_late()) return tl::make_unexpected(deadline_error(options));
  auto metrics = make_metrics(options.metrics, (*data)->classes());
  if (!metrics) return tl::make_unexpected(metrics.error());
  state->call = std::make_unique<evaluation>(evaluation_request{
      *data, options.micro_batch, options.limit, {sink_request{.name = "metrics", .metrics = std::move(*metrics)}}});

  const std::uint64_t first = std::min(options.micro_batch, state->call->samples_asked());
  auto sample = (*data)->read({0, first});
  if (!sample) return tl::make_unexpected(sample.error());
  const model_pipeline_options pipeline_options{
      .stages = options.stages,
      .replicas = options.replicas,
      .threads = *state->options.threads,
      .optimize = options.optimize,
      .partition = options.partition,
      .num_pipe_buffers = options.num_pipe_buffers,
      .passenger_bytes = sample->labels.defined() ? sample->labels.nbytes() : 0,
      .trace = options.trace,
      .transport = options.transport,
      .workers = workers_of(options, **data, settings)};
  auto stages = start_model_pipeline(*chain, pipeline_options, sample->inputs);
  if (!stages) return tl::make_unexpected(stages.error());
  state->stages = std::move(*stages);
  state->options.num_pipe_buffers = options.num_pipe_buffers.value_or(
      std::max(limits::pipe_buffers_default, state->stages.running->engines().depths.between_stages));
  if (auto opened = state->open_journal(**data); !opened) return tl::make_unexpected(opened.error());
  return std::unique_ptr<evaluator>(new evaluator(std::move(state)));
}

expected<std::unique_ptr<evaluator>> evaluator::create(const topology& what, const run_options& options,
                                                       evaluation_hooks hooks) {
  auto state = std::make_unique<impl>();
  state->options.model = "topology";
  state->options.micro_batch = options.micro_batch;
  state->options.limit = options.limit;
  state->options.deadline = options.deadline;
  state->options.trace = options.trace;
  state->options.processes = options.processes || what.wants_any_process();
  state->options.transport = options.transport;
  state->options.worker_timeout = options.worker_timeout;
  state->options.start_deadline = options.start_deadline;
  state->options.forward_deadline = options.forward_deadline;
  state->hooks = std::move(hooks);
  if (const auto* worker = program::worker()) serve_topology(*worker, what, options);
  if (auto fine = check_run(options, state->options.processes); !fine) return tl::make_unexpected(fine.error());
  if (auto fine = what.check(); !fine) return tl::make_unexpected(fine.error());
  state->deadline = deadline_of(state->options, steady::now());
  state->options.threads = options.threads.value_or(threads_for(what.graph()));

  if (auto room = check_room(what, options, *state->options.threads); !room) return tl::make_unexpected(room.error());
  auto data = open_choice(*what.data());
  if (!data) return tl::make_unexpected(data.error());
  auto sinks = make_sinks(what, (*data)->classes());
  if (!sinks) return tl::make_unexpected(sinks.error());
  if (auto marked = mark_parts(*sinks, what.graph()); !marked) return tl::make_unexpected(marked.error());
  state->call =
      std::make_unique<evaluation>(evaluation_request{*data, options.micro_batch, options.limit, std::move(*sinks)});
  const std::uint64_t first = std::min(options.micro_batch, state->call->samples_asked());
  auto block = (*data)->read({0, first});
  if (!block) return tl::make_unexpected(block.error());
  auto stages = start_topology(what,
                               {.threads = *state->options.threads,
                                .trace = options.trace,
                                .transport = options.transport,
                                .workers = workers_of(state->options, **data, settings_of(what)),
                                .all_in_processes = options.processes},
                               *block);
  if (!stages) return tl::make_unexpected(stages.error());
  state->stages = std::move(*stages);
  return std::unique_ptr<evaluator>(new evaluator(std::move(state)));
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
  impl_->stages.running->reports().wake();
}

/// Last of all, when nothing can be refused any more: a run that could not begin leaves no journal behind.
expected<void> evaluator::impl::open_journal(const data_set& data) {
  if (options.journal.empty()) return {};
  const auto pins = pins_of(options, data, stages.layers);
  if (!pins) return tl::make_unexpected(pins.error());
  auto opened = options.resume ? resume_journal(options.journal, *pins,
                                                [this](const score& state) { return call->take_over(state); })
                               : create_journal(options.journal, *pins);
  if (!opened) return tl::make_unexpected(opened.error());
  journal = std::move(*opened);
  call->keep_in(journal);
  return {};
}

expected<run_result> evaluator::run() {
  pipeline& running = *impl_->stages.running;
  const auto before = running.engines().accounts->usage();
  auto future = running.submit(impl_->call->ticket());
  std::optional<error> stopped_by;
  const call_outcome outcome = impl_->wait(future, stopped_by);
  auto result = impl_->conclude(outcome, stopped_by, before);
  const auto kept = impl_->journal ? impl_->journal->close() : expected<void>{};
  if (result && !kept) result->errors.push_back(kept.error());
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
    stages.running->look_after();
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
  const std::uint64_t done = call->samples_in(reports.progress->folded);
  const std::uint64_t done_now = done - std::min(done, call->samples_in(call->micro_batches_resumed()));
  hooks.on_progress({.samples_done = done,
                     .samples_total = call->samples_asked(),
                     .micro_batches_done = reports.progress->folded,
                     .samples_per_second = seconds > 0 ? static_cast<double>(done_now) / seconds : 0.0});
}

expected<run_result> evaluator::impl::conclude(const call_outcome& outcome, const std::optional<error>& stopped_by,
                                               const std::vector<stage_usage>& before) {
  if (outcome.cause && !stopped_by) return tl::make_unexpected(*outcome.cause);
  run_result result = call->result(outcome);
  result.model = options.model;
  result.config = options;
  const assembly& engines = stages.running->engines();
  result.stages =
      stage_reports(*engines.accounts, before, engines.accounts->usage(), result.wall_seconds, stages.layers);
  if (result.partial && stopped_by) result.errors.push_back(*stopped_by);
  if (result.delivery.lost > 0) {
    result.errors.push_back({error_code::work_lost, "eval",
                             std::to_string(result.delivery.lost) + " micro-batches were lost", "report this"});
  }
  return result;
}

}  // namespace troupe
