#include "program/run/evaluation.hpp"

#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "runtime/data/data_set_source.hpp"
#include "runtime/data/data_warnings.hpp"
#include "runtime/journal/journaling_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/metric/score_layout.hpp"
#include "runtime/predictions/prediction_rows.hpp"

namespace troupe {
namespace {

/// Workers write them: one that has gone mad may count backwards.
std::uint64_t rise(std::uint64_t before, std::uint64_t after) {
  return after < before ? 0 : after - before;
}

/// What of a worker's score cannot be true. The number of words is compared before, where it is known.
std::optional<std::string> objection_to_rows(const std::vector<metric_ptr>& metrics, const score& said) {
  if (said.samples == 0 || !has_rows(metrics)) return std::nullopt;
  const auto rows = rows_in(metrics, said.words);
  return rows ? std::nullopt : std::optional(rows.error());
}

/// Null where FILE.json is not asked for.
expected<std::shared_ptr<prediction_documents>> open_documents(const sink_request& sink) {
  const prediction_options& asked = sink.prediction_file;
  if (asked.file.empty() || sink.predictions != nullptr) return std::shared_ptr<prediction_documents>();
  const auto found = std::ranges::find_if(sink.metrics, [](const metric_ptr& each) { return each->has_predictions(); });
  if (found != sink.metrics.end()) {
    return prediction_documents::open(asked.file, *found, asked.with == prediction_extra::probabilities);
  }
  return fail(error_code::flags_contradict, "predictions",
              asked.file + " is for the predictions of a task, and none of the metrics has any for these data",
              "add the metric of the task, such as --metrics squad, or write predictions.jsonl");
}

}  // namespace

std::vector<metric_ptr> sink_request::kept() const {
  std::vector<metric_ptr> all = metrics;
  if (predictions != nullptr) all.push_back(predictions);
  return all;
}

evaluation::evaluation(evaluation_request request) : request_(std::move(request)) {
  samples_ = std::min(request_.data->size(), request_.limit.value_or(request_.data->size()));
  micro_batches_ = (samples_ + request_.micro_batch - 1) / request_.micro_batch;
  ticket_ = std::make_shared<call_ticket>();
  ticket_->source =
      std::make_shared<data_set_source>(request_.data, request_.micro_batch, request_.limit, 0, request_.data_workers);
  ticket_->make_scorer = [sinks = request_.sinks](std::uint32_t sink) {
    return std::make_shared<metric_scorer>(sinks[sink].kept(), sinks[sink].names);
  };
  std::vector<std::vector<metric_ptr>> kept;
  for (const sink_request& each : request_.sinks) kept.push_back(each.kept());
  ticket_->unpack = [kept = std::move(kept)](const score& said) { return objection_to_rows(kept[said.sink], said); };
  ticket_->in_workers.classes = request_.data->classes();
}

expected<std::unique_ptr<evaluation>> evaluation::make(evaluation_request request) {
  std::unique_ptr<evaluation> made(new evaluation(std::move(request)));
  for (const sink_request& each : made->request_.sinks) TROUPE_TRY(made->add_sink(each));
  return made;
}

expected<void> evaluation::add_sink(const sink_request& sink) {
  const std::vector<metric_ptr> kept = sink.kept();
  auto fold = std::make_shared<metric_fold>(kept, request_.micro_batch, samples_);
  std::shared_ptr<row_writer> file;
  if (sink.predictions != nullptr) {
    const std::string& path = sink.prediction_file.file;
    file = TROUPE_TRY(open_prediction_file(path, TROUPE_TRY(prediction_format_of(path)), request_.data));
    fold->write_last_rows(file);
  }
  documents_.push_back(TROUPE_TRY(open_documents(sink)));
  ticket_->score_words.push_back(has_rows(kept) ? 0 : score_words_of(kept));
  ticket_->folds.push_back(fold);
  folds_.push_back(std::move(fold));
  prediction_files_.push_back(std::move(file));
  return {};
}

expected<void> evaluation::restore(const score& state) {
  const std::uint64_t index = state.id.index;
  const bool is_ours = state.sink < folds_.size() && index < micro_batches_ && has_its_samples(state);
  auto folded = is_ours ? folds_[state.sink]->fold(state) : expected<void>{};
  if (!folded && folded.error().code == error_code::metric_failed) return folded;
  if (!is_ours || !folded) {
    return fail(error_code::journal_damaged, "sink " + std::to_string(state.sink) + ", " + to_string(state.id),
                folded ? "this evaluation has no such state" : folded.error().cause, "start anew with another journal");
  }
  call_start& start = ticket_->start;
  start.folded.resize(folds_.size());
  start.folded[state.sink] = index + 1;
  if (state.sink == 0) start.samples += state.samples;
  return {};
}

bool evaluation::has_its_samples(const score& state) const {
  const std::uint64_t samples = samples_in(state.id.index + 1) - samples_in(state.id.index);
  return request_.sinks[state.sink].has_parts ? state.samples <= samples : state.samples == samples;
}

void evaluation::append_to(const std::shared_ptr<journal_writer>& journal) {
  for (auto& each : ticket_->folds) each = std::make_shared<journaling_fold>(each, journal);
  ticket_->source = std::make_shared<data_set_source>(request_.data, request_.micro_batch, request_.limit,
                                                      micro_batches_resumed(), request_.data_workers);
}

std::uint64_t evaluation::samples_in(std::uint64_t micro_batches) const noexcept {
  return std::min(samples_, micro_batches * request_.micro_batch);
}

expected<run_result> evaluation::result(const call_outcome& outcome) const {
  run_result result;
  result.data = request_.data->name();
  result.left_out = request_.data->left_out();
  result.warnings = warnings_about(*request_.data);
  result.samples = samples_in(outcome.tally.folded);
  result.micro_batches = outcome.tally.folded;
  for (std::size_t sink = 0; sink < folds_.size(); ++sink) {
    const metric_fold& folded = *folds_[sink];
    auto computed = TROUPE_TRY(folded.compute());
    if (prediction_files_[sink] != nullptr) TROUPE_TRY(prediction_files_[sink]->finish());
    if (documents_[sink] != nullptr) {
      TROUPE_TRY(documents_[sink]->write(folded.total_of(documents_[sink]->source())));
    }
    result.sinks.push_back({.name = request_.sinks[sink].name,
                            .samples = folded.samples(),
                            .metrics = std::move(computed),
                            .samples_with_nan = folded.odd().with_nan,
                            .samples_with_infinity = folded.odd().with_infinity});
  }
  result.metrics = result.sinks.front().metrics;
  result.samples_with_nan = result.sinks.front().samples_with_nan;
  result.samples_with_infinity = result.sinks.front().samples_with_infinity;
  result.partial = is_partial(outcome, micro_batches_);
  result.delivery = {.expected = micro_batches_,
                     .folded = outcome.tally.folded,
                     .replayed = outcome.replayed,
                     .duplicates_dropped = outcome.tally.duplicates_dropped,
                     .lost = lost_of(outcome),
                     .resumed = std::min(micro_batches_resumed(), outcome.tally.folded)};
  result.wall_time = outcome.wall;
  const std::uint64_t evaluated = result.samples - samples_in(result.delivery.resumed);
  if (outcome.wall.count() > 0) {
    result.samples_per_second = static_cast<double>(evaluated) / std::chrono::duration<double>(outcome.wall).count();
  }
  return result;
}

std::vector<stage_report> stage_reports(const stage_accounts& accounts, const std::vector<stage_usage>& before,
                                        const std::vector<stage_usage>& after, std::chrono::nanoseconds wall,
                                        const std::vector<std::vector<std::string>>& layers) {
  std::vector<stage_report> reports;
  for (std::size_t index = 0; index < accounts.owners().size(); ++index) {
    const stage_accounts::owner& stage = accounts.owners()[index];
    const auto busy_ns = static_cast<double>(rise(before[index].busy_ns, after[index].busy_ns));
    reports.push_back(
        {.name = stage.name,
         .replica = stage.address.replica,
         .layers = layers[stage.address.stage],
         .forward_time = std::chrono::nanoseconds(rise(before[index].forward_ns, after[index].forward_ns)),
         .busy_fraction = wall.count() > 0 ? std::min(1.0, busy_ns / static_cast<double>(wall.count())) : 0.0,
         .micro_batches = rise(before[index].micro_batches, after[index].micro_batches),
         .samples = rise(before[index].samples, after[index].samples)});
  }
  return reports;
}

}  // namespace troupe
