#include "runtime/metric/metric_scorer.hpp"

#include <ATen/ops/clone.h>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/metric/odd_outputs.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {

namespace {

expected<void> check_rows(const at::Tensor& outputs, const activation& input) {
  const auto samples = static_cast<std::int64_t>(input.row_count());
  if (outputs.defined() && outputs.dim() >= 1 && outputs.size(0) == samples) return {};
  const std::string found = !outputs.defined() || outputs.dim() == 0 ? "none" : std::to_string(outputs.size(0));
  return fail(error_code::metric_failed, place_of(input),
              "expected " + std::to_string(samples) + " rows of outputs, one per sample, found " + found,
              "use a model that keeps dimension 0, the samples");
}

expected<payload_ptr> copied(const at::Tensor& outputs, const activation& input) {
  try {
    return make_tensors(at::clone(outputs, at::MemoryFormat::Contiguous).detach());
  } catch (const std::exception& e) {
    return fail(error_code::metric_failed, place_of(input), "the outputs cannot be copied: " + exception_text(e),
                "use a smaller micro-batch");
  }
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

expected<void> update_one(const metric& one, const at::Tensor& outputs, const at::Tensor& labels,
                          std::span<std::uint64_t> state) try {
  return one.update_words(outputs, labels, state);
} catch (...) {
  return fail(error_code::metric_failed, one.name(), "it threw: " + current_exception_text(),
              "check the metric with such outputs and labels, outside the pipeline");
}

expected<void> judge_one(const metric& one, const at::Tensor& outputs, const at::Tensor& labels) try {
  std::vector<std::uint64_t> state(one.words(), 0);
  TROUPE_TRY(one.update_words(outputs, labels, state));
  return one.judge(outputs, labels);
} catch (...) {
  return fail(error_code::metric_does_not_fit, one.name(), "it threw: " + current_exception_text(),
              "mend the metric, or choose another one");
}

}  // namespace

std::size_t score_words_of(const std::vector<metric_ptr>& metrics) {
  std::size_t words = odd_words;
  for (const metric_ptr& each : metrics) words += each->words();
  return words;
}

metric_scorer::metric_scorer(std::vector<metric_ptr> metrics, bool return_outputs, scored_names names)
    : metrics_(std::move(metrics)),
      words_(score_words_of(metrics_)),
      return_outputs_(return_outputs),
      names_(std::move(names)) {}

expected<metric_scorer::scored_tensors> metric_scorer::find(const payload_ptr& outputs, const activation& input) const {
  scored_tensors found;
  found.outputs = TROUPE_TRY(find_output(outputs, names_.output, input));
  TROUPE_TRY(check_rows(*found.outputs, input));
  if (!metrics_.empty()) found.labels = TROUPE_TRY(find_label(input, names_.label));
  return found;
}

// An engine starts without data: the first micro-batch of its call is the one that shows a misfit.
expected<void> metric_scorer::evaluate(const payload_ptr& outputs, const activation& input, score& into) {
  if (input.id.index == 0) {
    TROUPE_TRY(judge(outputs, input));
  }
  const scored_tensors found = TROUPE_TRY(find(outputs, input));
  into.samples = input.row_count();
  into.words.assign(words_, 0);
  std::span<std::uint64_t> rest = into.words;
  for (const metric_ptr& each : metrics_) {
    if (auto done = update_one(*each, *found.outputs, *found.labels, rest.first(each->words())); !done) {
      error e = std::move(done.error());
      e.where = place_of(input) + place_of(*each, e);
      return tl::make_unexpected(std::move(e));
    }
    rest = rest.subspan(each->words());
  }
  const odd_samples odd = count_odd_samples(*found.outputs);
  rest[0] = odd.with_nan;
  rest[1] = odd.with_infinity;
  if (!return_outputs_) return {};
  into.outputs = TROUPE_TRY(copied(*found.outputs, input));
  return {};
}

expected<void> metric_scorer::judge(const payload_ptr& outputs, const activation& input) const {
  if (input.is_empty_part()) return {};
  const expected<scored_tensors> found = find(outputs, input);
  if (!found) return misfit({}, found.error());
  for (const metric_ptr& each : metrics_) {
    if (auto fine = judge_one(*each, *found->outputs, *found->labels); !fine) {
      return misfit(place_of(*each, fine.error()), fine.error());
    }
  }
  return {};
}

}  // namespace troupe
