#include "program/prepared_run.hpp"

#include <algorithm>
#include <utility>

#include "messages/limits.hpp"
#include "program/journal_pins.hpp"
#include "program/model_probe.hpp"
#include "program/model_worker.hpp"
#include "program/run_checks.hpp"
#include "program/topology_start.hpp"
#include "program/topology_worker.hpp"
#include "runtime/engine/engine_thread.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {
namespace {

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

/// In a process of its own; it must have taken the run for what this one does.
expected<probe_report> probe(const eval_options& options, const expected<wiring_plan>& plan,
                             const std::string& settings, const log_function& log, const std::stop_token& stop) {
  if (!plan) return tl::make_unexpected(plan.error());
  const auto to_become_ready =
      std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(options.start_deadline));
  auto report = probe_in_process(
      {.what = options.model, .patience = limits::probe_start_time + to_become_ready, .log = log}, stop);
  if (report && report->fingerprint != plan_fingerprint(*plan, settings)) {
    return fail(error_code::worker_mismatch, "try-out", "its process describes another topology than its driver",
                "build the topology from the arguments alone, and leave its files alone while it runs");
  }
  return report;
}

expected<model_pipeline> start_model(const eval_options& options, const data_set& data, const sample_block& sample,
                                     const std::optional<layer_chain>& chain, const std::string& settings,
                                     const log_function& log, const std::stop_token& stop) {
  const auto input = single_input(sample, options.model);
  if (!input) return tl::make_unexpected(input.error());
  const model_pipeline_options how{.stages = options.stages,
                                   .replicas = options.replicas,
                                   .threads = *options.threads,
                                   .optimize = options.optimize,
                                   .partition = options.partition,
                                   .num_pipe_buffers = options.num_pipe_buffers,
                                   .passenger_bytes = bytes_of(sample.labels),
                                   .trace = options.trace,
                                   .transport = options.transport,
                                   .workers = workers_of(options, data, settings),
                                   .stop = stop};
  if (chain) return start_model_pipeline(*chain, how, *input);
  const auto plan = plan_of_chain(options.stages, options.replicas, options.num_pipe_buffers);
  return probe(options, plan, settings, log, stop).and_then([&](const probe_report& report) {
    return start_reported_pipeline(report, how, *input);
  });
}

/// sink_request::has_parts.
expected<void> mark_parts(std::vector<sink_request>& sinks, const stage_graph& graph) {
  return expand(graph).map([&](const wiring_plan& plan) {
    const std::vector<bool> parts = nodes_with_parts(plan);
    for (std::size_t sink = 0; sink < sinks.size(); ++sink) sinks[sink].has_parts = parts[plan.sinks[sink].stage];
  });
}

/// Last of all, when nothing can be refused any more: a run that could not begin leaves no journal behind.
expected<void> open_journal(prepared_run& run, const eval_options& options, const data_set& data) {
  if (options.journal.empty()) return {};
  const auto pins = pins_of(options, data, run.stages.layers);
  if (!pins) return tl::make_unexpected(pins.error());
  auto opened = options.resume ? resume_journal(options.journal, *pins,
                                                [&](const score& state) { return run.call->take_over(state); })
                               : create_journal(options.journal, *pins);
  if (!opened) return tl::make_unexpected(opened.error());
  run.journal = std::move(*opened);
  run.call->keep_in(run.journal);
  return {};
}

}  // namespace

expected<data_set_ptr> open_choice(const data_choice& choice) {
  if (const auto* specification = std::get_if<std::string>(&choice)) return open_data(*specification);
  const auto& data = std::get<data_set_ptr>(choice);
  if (data == nullptr || data->size() == 0) {
    return fail(error_code::data_empty, "source", "there is no sample to evaluate",
                "give the source a data set with samples");
  }
  return data;
}

std::uint32_t threads_for(const stage_graph& graph) {
  std::uint32_t engines = 0;
  for (const graph_node& node : graph.nodes()) {
    if (node.kind == node_kind::stage) engines += node.replicas;
  }
  return std::max(1u, usable_cores() / std::max(1u, engines));
}

expected<prepared_run> prepare_model_run(eval_options options, const log_function& log, const std::stop_token& stop) {
  prepared_run made{.options = options, .stages = {}, .call = nullptr, .journal = nullptr};
  options.threads = made.options.threads = threads_of(options, usable_cores());
  if (!options.journal.empty()) {
    if (auto fine = check_journal(options.journal, options.resume); !fine) return tl::make_unexpected(fine.error());
  }
  if (auto room = check_room(options); !room) return tl::make_unexpected(room.error());
  auto data = open_data(options.data);
  if (!data) return tl::make_unexpected(data.error());
  const std::string settings = settings_of(options);  // before it is read: workers refuse what came later
  std::optional<layer_chain> chain;
  if (!options.processes) {
    auto loaded = load_chain(options.model, {.allow_effects = options.allow_effects});
    if (!loaded) return tl::make_unexpected(loaded.error());
    chain = std::move(*loaded);
  }
  if (stop.stop_requested()) return stopped_early(options.model);
  auto metrics = make_metrics(options.metrics, (*data)->classes());
  if (!metrics) return tl::make_unexpected(metrics.error());
  made.call = std::make_unique<evaluation>(evaluation_request{
      *data, options.micro_batch, options.limit, {sink_request{.name = "metrics", .metrics = std::move(*metrics)}}});
  const auto sample = read_samples(**data, {0, std::min(options.micro_batch, made.call->samples_asked())});
  if (!sample) return tl::make_unexpected(sample.error());
  auto stages = start_model(options, **data, *sample, chain, settings, log, stop);
  if (!stages) return tl::make_unexpected(stages.error());
  made.stages = std::move(*stages);
  made.options.num_pipe_buffers = options.num_pipe_buffers.value_or(
      std::max(limits::pipe_buffers_default, made.stages.running->engines().depths.between_stages));
  if (stop.stop_requested()) return stopped_early(options.model);
  if (auto opened = open_journal(made, made.options, **data); !opened) return tl::make_unexpected(opened.error());
  return made;
}

expected<prepared_run> prepare_topology_run(const topology& what, const run_options& options, eval_options resolved,
                                            const log_function& log, const std::stop_token& stop) {
  prepared_run made{.options = std::move(resolved), .stages = {}, .call = nullptr, .journal = nullptr};
  made.options.threads = options.threads.value_or(threads_for(what.graph()));
  if (auto room = check_room(what, options, *made.options.threads); !room) return tl::make_unexpected(room.error());
  auto data = open_choice(*what.data());
  if (!data) return tl::make_unexpected(data.error());
  const std::string settings = settings_of(what);
  auto sinks = make_sinks(what, (*data)->classes());
  if (!sinks) return tl::make_unexpected(sinks.error());
  if (auto marked = mark_parts(*sinks, what.graph()); !marked) return tl::make_unexpected(marked.error());
  made.call =
      std::make_unique<evaluation>(evaluation_request{*data, options.micro_batch, options.limit, std::move(*sinks)});
  const auto block = read_samples(**data, {0, std::min(options.micro_batch, made.call->samples_asked())});
  if (!block) return tl::make_unexpected(block.error());
  topology_start_options how{.threads = *made.options.threads,
                             .classes = (*data)->classes(),
                             .trace = options.trace,
                             .transport = options.transport,
                             .workers = workers_of(made.options, **data, settings),
                             .all_in_processes = options.processes,
                             .report = std::nullopt,
                             .stop = stop};
  if (how.workers) {
    auto report = probe(made.options, expand(what.graph()), settings, log, stop);
    if (!report) return tl::make_unexpected(report.error());
    how.report = std::move(*report);
  }
  auto stages = start_topology(what, how, *block);
  if (!stages) return tl::make_unexpected(stages.error());
  made.stages = std::move(*stages);
  return made;
}

}  // namespace troupe
