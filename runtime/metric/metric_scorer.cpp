#include "runtime/metric/metric_scorer.hpp"

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/metric/odd_outputs.hpp"
#include "runtime/metric/score_layout.hpp"

namespace troupe {

namespace {

/// Those that metrics score: the one that is chosen, or the only one. Where several are there and none is chosen, all:
/// metrics then look for theirs by name.
std::vector<const at::Tensor*> scored_outputs(const scored_part& part) {
  if (const auto chosen = part.output()) return {*chosen};
  std::vector<const at::Tensor*> all;
  for (const auto& [name, tensor] : part.outputs()) all.push_back(&tensor);
  return all;
}

expected<void> check_rows(const std::vector<const at::Tensor*>& outputs, const activation& input) {
  const auto samples = static_cast<std::int64_t>(input.row_count());
  for (const at::Tensor* each : outputs) {
    if (each->defined() && each->dim() >= 1 && each->size(0) == samples) continue;
    const std::string found = !each->defined() || each->dim() == 0 ? "none" : std::to_string(each->size(0));
    return fail(error_code::metric_failed, place_of(input),
                "expected " + std::to_string(samples) + " rows of outputs, one per sample, found " + found,
                "use a model that keeps dimension 0, the samples");
  }
  return {};
}

/// The error of a micro-batch, as one about the choice of metrics.
tl::unexpected<error> misfit(const std::string& where, const error& found) {
  return fail(error_code::metric_does_not_fit, "first micro-batch" + where, found.cause, found.fix);
}

/// Metrics begin the place of their errors with their name.
std::string place_of(const metric& one, const error& found) {
  if (found.where.starts_with(one.name())) return ", metric " + found.where;
  return ", metric " + one.name() + (found.where.empty() ? "" : ", " + found.where);
}

expected<void> update_one(const metric& one, const scored_part& part, std::span<std::uint64_t> state,
                          std::vector<std::byte>& rows) try {
  return one.update_words(part, state, rows);
} catch (...) {
  return fail(error_code::metric_failed, one.name(), "it threw: " + current_exception_text(),
              "check the metric with such outputs and labels, outside the pipeline");
}

expected<void> judge_one(const metric& one, const scored_part& part) try {
  std::vector<std::uint64_t> state(one.words(), 0);
  std::vector<std::byte> rows;
  TROUPE_TRY(one.update_words(part, state, rows));
  return one.judge(part);
} catch (...) {
  return fail(error_code::metric_does_not_fit, one.name(), "it threw: " + current_exception_text(),
              "mend the metric, or choose another one");
}

expected<void> check_size(const std::vector<std::uint64_t>& words, std::size_t words_max, const activation& input) {
  if (words.size() <= words_max) return {};
  return fail(error_code::metric_failed, place_of(input),
              "the metrics keep " + std::to_string(words.size() * sizeof(std::uint64_t)) + " bytes for it, at most " +
                  std::to_string(words_max * sizeof(std::uint64_t)) + " come from a worker process",
              "use smaller micro-batches, or metrics that keep less of each sample");
}

}  // namespace

metric_scorer::metric_scorer(std::vector<metric_ptr> metrics, scored_names names, std::size_t words_max)
    : metrics_(std::move(metrics)), words_(score_words_of(metrics_)), names_(std::move(names)), words_max_(words_max) {}

// An engine starts without data: the first micro-batch of its call is the one that shows a misfit.
expected<void> metric_scorer::evaluate(const payload_ptr& outputs, const activation& input, score& into) {
  if (input.id.index == 0) {
    TROUPE_TRY(judge(outputs, input));
  }
  const scored_part part = part_of(outputs, input, names_);
  const auto outputs_scored = scored_outputs(part);
  TROUPE_TRY(check_rows(outputs_scored, input));
  into.samples = input.row_count();
  into.words.assign(words_, 0);
  std::vector<std::vector<std::byte>> kept;
  std::size_t at = 0;
  for (const metric_ptr& each : metrics_) {
    std::vector<std::byte> rows;
    if (auto done = update_one(*each, part, std::span(into.words).subspan(at, each->words()), rows); !done) {
      error e = std::move(done.error());
      e.where = place_of(input) + place_of(*each, e);
      return tl::make_unexpected(std::move(e));
    }
    at += each->words();
    if (each->row_bytes() > 0) kept.push_back(std::move(rows));
  }
  const odd_samples odd = count_odd_samples(outputs_scored);
  into.words[at] = odd.with_nan;
  into.words[at + 1] = odd.with_infinity;
  for (const auto& rows : kept) append_rows(into.words, rows);
  return kept.empty() ? expected<void>{} : check_size(into.words, words_max_, input);
}

expected<void> metric_scorer::judge(const payload_ptr& outputs, const activation& input) const {
  if (input.is_empty_part()) return {};
  const scored_part part = part_of(outputs, input, names_);
  if (auto fine = check_rows(scored_outputs(part), input); !fine) return misfit({}, fine.error());
  for (const metric_ptr& each : metrics_) {
    if (auto fine = judge_one(*each, part); !fine) return misfit(place_of(*each, fine.error()), fine.error());
  }
  return {};
}

}  // namespace troupe
