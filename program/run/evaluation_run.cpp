#include "program/run/evaluation_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "program/run/fault_blame.hpp"
#include "program/topology/eval_topology.hpp"
#include "runtime/fault/fault_shape.hpp"

namespace troupe {
namespace {

/// The fix for an evaluation that was ended.
std::string how_to_go_on(const eval_options& config) {
  return config.run.journal.file.empty() ? "give --journal FILE next time: then --resume does the rest"
                                         : "run it again with --resume, which does the rest";
}

error interrupted_error(const eval_options& config) {
  return {error_code::interrupted, "eval", "it was interrupted before all samples were evaluated",
          how_to_go_on(config)};
}

/// What went wrong beside the stop that was asked for, which a cancelled call has for its cause, too.
std::optional<error> failure_of(const call_outcome& outcome) {
  if (!outcome.cause) return std::nullopt;
  const error_code code = outcome.cause->code;
  if (code == error_code::interrupted || code == error_code::deadline_passed) return std::nullopt;
  return outcome.cause;
}

}  // namespace

error deadline_error(const eval_options& config) {
  const std::chrono::duration<double> limit = config.run.deadline.value_or(std::chrono::nanoseconds{0});
  return {error_code::deadline_passed, "eval", fmt::format("the deadline of {} s has passed", limit.count()),
          "raise the deadline (--deadline), evaluate fewer samples (--limit), or " + how_to_go_on(config)};
}

void evaluation_run::request_stop(stop_kind kind) noexcept {
  int before = stop_asked_.load();
  const int asked = static_cast<int>(kind);
  while (before < asked && !stop_asked_.compare_exchange_weak(before, asked)) {
  }
  running().reports().wake();
}

void evaluation_run::put_disk_below_journal() const {
  const fault_injector* faults = running().faults();
  if (!parts_.journal || faults == nullptr || !faults->disk()) return;
  parts_.journal->write_with(
      [disk = faults->disk()](int fd, const void* from, std::size_t size) { return disk->write(fd, from, size); });
}

expected<run_result> evaluation_run::run() {
  put_disk_below_journal();
  const auto before = running().usage();
  auto future = running().submit(parts_.call->ticket());
  const auto outcome = wait(future);
  if (!outcome) {
    const error late{error_code::deadline_passed, "evaluate", "it took longer than call_timeout",
                     "raise pipeline_engine_options::call_timeout, or look for the stage that is stuck"};
    running().cancel(parts_.call->ticket(), late);
    return tl::make_unexpected(late);
  }
  cancelled_ = outcome->tally.cancelled;
  if (fault_injector* const faults = running().faults()) faults->dropped(outcome->dropped_so_far);
  auto result = conclude(*outcome, before);
  const auto kept = parts_.journal ? parts_.journal->close() : expected<void>{};
  if (result && !kept) result->errors.push_back(after_faults(kept.error(), running().faults()));
  return result;
}

std::optional<call_outcome> evaluation_run::wait(std::future<call_outcome>& outcome) {
  const auto started = clock::now();
  while (outcome.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
    if (parts_.patience && clock::now() >= *parts_.patience) return std::nullopt;
    apply_stop_request();
    std::chrono::nanoseconds nap = limits::report_interval;
    for (const auto& until : {stopped_by_ ? std::nullopt : parts_.deadline, parts_.patience}) {
      if (until) nap = std::clamp<std::chrono::nanoseconds>(*until - clock::now(), {}, nap);
    }
    running().watch();
    report(running().reports().take(nap), started);
    apply_deadline();
  }
  report(running().reports().take({}), started);
  // asked for before the end, and found after it: the end is that of a stopped run
  if (!stopped_by_ && stop_asked_.load() > stop_applied_) stopped_by_ = interrupted_error(parts_.config);
  return outcome.get();
}

void evaluation_run::apply_deadline() {
  const bool has_passed = parts_.deadline && clock::now() >= *parts_.deadline;
  if (!has_passed || (stopped_by_ && stopped_by_->code == error_code::deadline_passed)) return;
  stopped_by_ = deadline_error(parts_.config);
  running().cancel(parts_.call->ticket(), *stopped_by_);
}

void evaluation_run::apply_stop_request() {
  const int asked = stop_asked_.load();
  if (asked <= stop_applied_) return;
  stop_applied_ = asked;
  if (!stopped_by_) stopped_by_ = interrupted_error(parts_.config);
  if (asked == static_cast<int>(stop_kind::drain)) {
    running().cut_calls();
  } else {
    running().cancel(parts_.call->ticket(), *stopped_by_);
  }
}

void evaluation_run::log(const report_box::reports& reports) const {
  if (reports.lines_lost > 0) parts_.caller->lost(reports.lines_lost);
  for (const log_record& each : reports.log_lines) parts_.caller->put(each);
}

std::uint64_t evaluation_run::faults_injected() const {
  const fault_injector* faults = running().faults();
  return faults == nullptr ? 0 : faults->record().injected();
}

void evaluation_run::log_what_is_left() const {
  log(running().reports().take({}));
}

namespace {

/// Nothing for one that was injected.
std::optional<std::string> why_not_injected(const fault_record& record, std::size_t number,
                                            const fault_record::entry& one) {
  if (one.note || one.times > 0) return one.note;
  const fault_trigger& when = record.plan().faults()[number].when;
  const auto began = record.start()->began();
  if (when.kind == fault_trigger_kind::probability) return "not injected: no lot fell on it";
  const bool is_due = when.kind == fault_trigger_kind::time && began && run_start::clock::now() - *began >= when.after;
  if (!is_due) return "not injected: its moment did not come";
  return is_of_messages(record.plan().faults()[number]) ? "not injected: no message came in its time"
                                                        : "not injected: its target was not there";
}

}  // namespace

std::vector<fault_report> evaluation_run::fault_reports() const {
  return fault_reports_of(running());
}

std::vector<fault_report> fault_reports_of(running_topology& running) {
  std::vector<fault_report> made;
  fault_injector* faults = running.faults();
  if (faults == nullptr) return made;
  faults->look();
  const auto entries = faults->record().entries();
  for (std::size_t number = 0; number < entries.size(); ++number) {
    const fault_record::entry& one = entries[number];
    made.push_back({.fault = to_string(faults->record().plan().faults()[number]),
                    .times = one.times,
                    .after = one.after,
                    .micro_batch = one.micro_batch ? std::optional(one.micro_batch->index) : std::nullopt,
                    .recovery_time = one.recovery_time,
                    .replayed = one.replayed,
                    .duplicates_dropped = one.duplicates_dropped,
                    .note = why_not_injected(faults->record(), number, one)});
  }
  return made;
}

void evaluation_run::report(const report_box::reports& reports, clock::time_point started) const {
  log(reports);
  if (!reports.progress) return;
  const evaluation& call = *parts_.call;
  const double seconds = std::chrono::duration<double>(clock::now() - started).count();
  const std::uint64_t done = call.samples_in(reports.progress->folded);
  const std::uint64_t done_now = done - std::min(done, call.samples_in(call.micro_batches_resumed()));
  parts_.caller->put({.samples_done = done,
                      .samples_total = call.samples_asked(),
                      .micro_batches_done = reports.progress->folded,
                      .faults_injected = faults_injected(),
                      .samples_per_second = seconds > 0 ? static_cast<double>(done_now) / seconds : 0.0});
}

void evaluation_run::warn_of_nan(run_result& result) const {
  for (const sink_report& sink : result.sinks) {
    if (sink.samples_with_nan == 0) continue;
    std::string text = fmt::format(
        "{}{} of {} samples have NaN among their outputs: look at model, data and dtype "
        "(docs/metrics.md says how metrics count them)",
        result.sinks.size() > 1 ? "sink " + sink.name + ": " : "", sink.samples_with_nan, sink.samples);
    parts_.caller->put({.level = log_level::warning, .text = text});
    result.warnings.push_back(std::move(text));
  }
}

expected<run_result> evaluation_run::conclude(const call_outcome& outcome, const std::vector<stage_usage>& before) {
  if (outcome.cause && !stopped_by_) return tl::make_unexpected(after_faults(*outcome.cause, running().faults()));
  auto computed = parts_.call->result(outcome);
  if (!computed) return computed;
  run_result result = std::move(*computed);
  result.model = model_name(parts_.config);
  result.config = parts_.config;
  const assembly& engines = running().engines();
  result.cut_by = parts_.stages.cut_by;
  result.bits_depend_on = parts_.stages.bits_depend_on;
  result.plain_pipelines = parts_.stages.plain_pipelines;
  result.warnings.insert(result.warnings.begin(), parts_.stages.warnings.begin(), parts_.stages.warnings.end());
  result.stages = stage_reports(*engines.accounts, before, running().usage(), result.wall_time, parts_.stages.layers);
  result.faults = fault_reports();
  if (const auto failed = failure_of(outcome)) {
    result.partial = true;
    result.errors.push_back(after_faults(*failed, running().faults()));
  }
  if (result.partial && stopped_by_) result.errors.push_back(*stopped_by_);
  warn_of_nan(result);
  if (result.delivery.lost > 0) {
    result.errors.push_back({error_code::work_lost, "eval",
                             std::to_string(result.delivery.lost) + " micro-batches were lost", "report this"});
  }
  return result;
}

}  // namespace troupe
