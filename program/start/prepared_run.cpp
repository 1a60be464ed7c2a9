#include "program/start/prepared_run.hpp"

#include <algorithm>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/launch/process_role.hpp"
#include "program/start/fault_checks.hpp"
#include "program/start/journal_pins.hpp"
#include "program/start/model_probe.hpp"
#include "program/start/run_checks.hpp"
#include "program/start/topology_start.hpp"
#include "program/start/topology_worker.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/os/cpu_quota.hpp"
#include "runtime/process/nursery.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {
namespace {

/// In a process of its own; it must have taken the run for what this one does.
expected<probe_report> probe(const run_request& request, const std::shared_ptr<nursery>& from, const log_function& log,
                             const std::stop_token& stop) {
  const auto plan = TROUPE_TRY(expand(request.what.parts().graph()));
  const std::string settings = settings_of(request.what);  // before files are read: workers refuse what came later
  auto report = probe_in_process({.what = request.config.model,
                                  .patience = limits::probe_start_time + request.options.workers.start_deadline,
                                  .log = log,
                                  .spans_nodes = spans_nodes(),
                                  .from = from},
                                 stop);
  if (report && report->fingerprint != plan_fingerprint(plan, settings)) {
    return fail(error_code::worker_mismatch, "try-out", "its process describes another topology than its driver",
                "build the topology from the arguments alone, and leave its files alone while it runs");
  }
  return report;
}

/// sink_request::has_parts.
expected<void> mark_parts(std::vector<sink_request>& sinks, const stage_graph& graph) {
  return expand(graph).map([&](const wiring_plan& plan) {
    const std::vector<bool> parts = nodes_with_parts(plan);
    for (std::size_t sink = 0; sink < sinks.size(); ++sink) sinks[sink].has_parts = parts[plan.sinks[sink].stage];
  });
}

/// What a data set of a user says of itself, asked once, so that an exception is told as what it is.
expected<void> check_description(const data_set& data) {
  std::string where = "source";
  const char* asked = "name()";
  try {
    where = data.name();
    asked = "sample_shape()";
    static_cast<void>(data.sample_shape());
    asked = "files()";
    static_cast<void>(data.files());
    return {};
  } catch (...) {
    return fail(error_code::source_failed, where, std::string("its ") + asked + " threw: " + current_exception_text(),
                "mend the data set");
  }
}

}  // namespace

void end_idle_nursery(const topology& what, const run_options& options) {
  if (own_nursery() && !what.parts().has_workers(options)) own_nursery()->end();
}

std::uint32_t buffers_between(const started_run& stages) {
  return std::max(limits::pipe_buffers_default, stages.running->engines().depths.between_stages);
}

expected<data_set_ptr> open_choice(const data_choice& choice) {
  if (const auto* specification = std::get_if<std::string>(&choice)) return open_data(*specification);
  const auto& data = std::get<data_set_ptr>(choice);
  if (data == nullptr || data->size() == 0) {
    return fail(error_code::data_empty, "source", "there is no sample to evaluate",
                "give the source a data set with samples");
  }
  return check_description(*data).map([&] { return data; });
}

expected<sample_block> first_block(const data_set& data, const run_options& options) {
  const std::uint64_t asked = std::min(data.size(), options.limit.value_or(data.size()));
  return read_samples_to_keep(data, {0, std::min(options.micro_batch, asked)});
}

namespace {

/// In one process a state may be of any size.
expected<void> check_score_sizes(const std::vector<sink_request>& sinks, const topology& what,
                                 const run_options& options) {
  if (!what.parts().has_workers(options) && options.journal.file.empty()) return {};
  for (const sink_request& each : sinks) {
    const std::size_t words = score_words_of(each.metrics);
    if (words <= limits::score_words_max) continue;
    return fail(error_code::value_out_of_range, "metrics of sink " + each.name,
                "together they have a state of " + std::to_string(words) +
                    " words; from a worker process, and in a journal, it has up to " +
                    std::to_string(limits::score_words_max),
                "choose fewer metrics that count per class, or evaluate in one process without a journal");
  }
  return {};
}

}  // namespace

expected<std::unique_ptr<evaluation>> make_call(const topology& what, const run_options& options,
                                                const data_set_ptr& data) {
  auto sinks = TROUPE_TRY(make_sinks(what, data->classes()));
  TROUPE_TRY(check_score_sizes(sinks, what, options));
  TROUPE_TRY(mark_parts(sinks, what.parts().graph()));
  return std::make_unique<evaluation>(evaluation_request{data, options.micro_batch, options.limit, std::move(sinks)});
}

expected<std::shared_ptr<journal_writer>> open_journal(const topology& what, const run_options& options,
                                                       const data_set& data, const started_run& stages,
                                                       evaluation& call) {
  if (options.journal.file.empty()) return std::shared_ptr<journal_writer>();
  const auto pins = TROUPE_TRY(pins_of(what, options, data, stages.layers, stages.plain_layers));
  auto opened = options.journal.resume ? resume_journal(options.journal.file, pins,
                                                        [&](const score& state) { return call.restore(state); })
                                       : create_journal(options.journal.file, pins);
  if (opened) call.append_to(*opened);
  return opened;
}

expected<started_run> start_stages(const run_request& request, const sample_block& first, std::uint32_t classes,
                                   const log_function& log, const std::stop_token& stop) {
  topology_start_options how{
      .run = request.options, .classes = classes, .report = std::nullopt, .log = log, .stop = stop};
  if (request.what.parts().has_workers(request.options)) {
    how.from = own_nursery();
    auto report = TROUPE_TRY(probe(request, how.from, log, stop));
    how.report = std::move(report);
  }
  return start_topology(request.what, how, first);
}

expected<prepared_run> prepare_run(const run_request& request, const log_function& log, const std::stop_token& stop) {
  run_request resolved = request;
  resolved.options.threads = threads_of(request.what, request.options, cores_to_use());
  resolved.config.run.threads = resolved.options.threads;
  const run_options& options = resolved.options;
  if (!options.journal.file.empty()) {
    if (auto fine = check_journal(options.journal.file, options.journal.resume); !fine) {
      return tl::make_unexpected(fine.error());
    }
  }
  end_idle_nursery(request.what, options);
  TROUPE_TRY(check_room(request.what, options, *options.threads));
  const auto data = TROUPE_TRY(open_choice(*request.what.parts().data));
  auto call = TROUPE_TRY(make_call(request.what, options, data));
  TROUPE_TRY(check_faults(request.what, options, call->micro_batches_asked()));
  const auto first = TROUPE_TRY(first_block(*data, options));
  auto stages = TROUPE_TRY(start_stages(resolved, first, data->classes(), log, stop));
  if (stop.stop_requested()) return stopped_early(resolved.config.model);
  if (request.shows_buffers && !resolved.config.num_pipe_buffers) {
    resolved.config.num_pipe_buffers = buffers_between(stages);
  }
  auto journal = TROUPE_TRY(open_journal(request.what, options, *data, stages, *call));
  return prepared_run{.options = options,
                      .config = std::move(resolved.config),
                      .stages = std::move(stages),
                      .call = std::move(call),
                      .journal = std::move(journal)};
}

}  // namespace troupe
