#include "program/start/prepared_run.hpp"

#include <algorithm>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
#include "program/start/advised.hpp"
#include "program/start/fault_checks.hpp"
#include "program/start/journal_pins.hpp"
#include "program/start/model_probe.hpp"
#include "program/start/run_checks.hpp"
#include "program/start/sinks.hpp"
#include "program/start/topology_start.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/metric/score_layout.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/os/cpu_quota.hpp"
#include "runtime/process/fork_server.hpp"

namespace troupe {
namespace {

/// In a process of its own; it must have taken the run for what this one does.
expected<probe_report> probe(const checked_run& run, const log_function& log, const std::stop_token& stop) {
  const std::uint64_t fingerprint = run.fingerprint();  // before files are read: workers refuse what came later
  auto report = probe_in_process({.what = run.name,
                                  .patience = limits::probe_start_time + run.options.workers.start_deadline,
                                  .log = log,
                                  .spans_nodes = run.process->spans_nodes,
                                  .from = run.process->from,
                                  .environment = run.environment()},
                                 stop);
  if (report && report->fingerprint != fingerprint) {
    return fail(error_code::worker_mismatch, "try-out", "its process describes another topology than its driver",
                "build the topology from the arguments alone, and leave its files alone while it runs");
  }
  return report;
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

void end_idle_fork_server(const checked_run& run) {
  if (run.process->from && !run.has_workers()) run.process->from->end();
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
expected<void> check_score_sizes(const std::vector<sink_request>& sinks, const checked_run& run) {
  if (!run.has_workers() && run.options.journal.file.empty()) return {};
  for (const sink_request& each : sinks) {
    const std::size_t words = score_words_of(each.kept());
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

expected<std::unique_ptr<evaluation>> make_call(const checked_run& run, const data_set_ptr& data) {
  auto sinks =
      TROUPE_TRY(make_sinks(run, *data).map_error([&](error found) { return advised(std::move(found), run, *data); }));
  TROUPE_TRY(check_score_sizes(sinks, run));
  return evaluation::make(
      evaluation_request{data, run.options.micro_batch, run.options.limit, std::move(sinks), run.options.data_workers});
}

expected<std::shared_ptr<journal_writer>> open_journal(const checked_run& run, const data_set& data,
                                                       const started_run& stages, evaluation& call) {
  const journal_options& asked = run.options.journal;
  if (asked.file.empty()) return std::shared_ptr<journal_writer>();
  const auto pins = TROUPE_TRY(pins_of(run, data, stages.plain_pipelines));
  auto opened = asked.resume ? resume_journal(asked.file, pins,
                                              {.on_state = [&](const score& state) { return call.restore(state); }})
                             : create_journal(asked.file, pins);
  if (opened) call.append_to(*opened);
  return opened;
}

expected<started_run> start_stages(const checked_run& run, const sample_block& first, std::uint32_t classes,
                                   const log_function& log, const std::stop_token& stop) {
  topology_start_options how{.classes = classes, .report = std::nullopt, .log = log, .stop = stop};
  if (run.has_workers()) {
    how.report = TROUPE_TRY(probe(run, log, stop));
  }
  return start_topology(run, how, first);
}

expected<prepared_run> prepare_run(checked_run run, const log_function& log, const std::stop_token& stop) {
  run_options& options = run.options;
  options.threads = threads_of(run.what, options, cores_to_use());
  if (!options.journal.file.empty()) {
    TROUPE_TRY(check_journal(options.journal.file, options.journal.resume));
  }
  end_idle_fork_server(run);
  TROUPE_TRY(check_resources(run));
  const auto data = TROUPE_TRY(open_choice(*run.parts().data));
  auto call = TROUPE_TRY(make_call(run, data));
  TROUPE_TRY(check_faults(run, call->micro_batches_asked()));
  const auto first = TROUPE_TRY(first_block(*data, options));
  auto stages = TROUPE_TRY(start_stages(run, first, data->classes(), log, stop).map_error([&](error found) {
    return advised(std::move(found), run, *data);
  }));
  if (stop.stop_requested()) return stopped_early(run.name);
  auto journal = TROUPE_TRY(open_journal(run, *data, stages, *call));
  return prepared_run{
      .threads = *options.threads, .stages = std::move(stages), .call = std::move(call), .journal = std::move(journal)};
}

}  // namespace troupe
