#include "runtime/metric/squad_spans.hpp"

#include <string>

#include <ATen/ops/empty.h>

#include "messages/try.hpp"
#include "runtime/question_answering/answer_spans.hpp"

namespace troupe {

namespace {

constexpr std::int64_t window_columns = 4;

tl::unexpected<error> misfit(std::string cause, std::string fix) {
  return fail(error_code::metric_failed, "metric squad", std::move(cause), std::move(fix));
}

/// [N, L] or [N, L, 1], as float32.
expected<at::Tensor> logits_of(const scored_part& part, const char* name) {
  const at::Tensor* found = part.outputs().find(name);
  if (found == nullptr) {
    return misfit("the model gives no " + std::string(name) + ", but " + part.outputs().names(),
                  "take a model for question answering, with the outputs start_logits and end_logits");
  }
  const at::Tensor logits = found->dim() == 3 && found->size(2) == 1 ? found->squeeze(2) : *found;
  if (logits.dim() != 2 || !logits.is_floating_point() || logits.is_sparse()) {
    return misfit(std::string(name) + " is no tensor of one number for each token",
                  "take a model for question answering");
  }
  return logits.to(at::kFloat).contiguous();
}

struct window_batch {
  at::Tensor start;
  at::Tensor end;
  at::Tensor windows;
  at::Tensor places;
};

expected<window_batch> read_batch(const scored_part& part) {
  const at::Tensor* windows = part.labels().find(window_label);
  const at::Tensor* places = part.labels().find(offsets_label);
  if (windows == nullptr || places == nullptr) {
    return misfit("these data are no questions: they lack the labels window and offsets",
                  "give data of questions: --data squad:FILE,tokenizer=FOLDER");
  }
  window_batch made;
  made.start = TROUPE_TRY(logits_of(part, "start_logits"));
  made.end = TROUPE_TRY(logits_of(part, "end_logits"));
  made.windows = windows->contiguous();
  made.places = places->contiguous();
  const auto samples = static_cast<std::int64_t>(part.size());
  const std::int64_t tokens = made.start.size(1);
  const bool fits = made.windows.scalar_type() == at::kLong && made.places.scalar_type() == at::kInt &&
                    made.windows.sizes() == at::IntArrayRef({samples, window_columns}) &&
                    made.places.sizes() == at::IntArrayRef({samples, tokens, 2}) &&
                    made.start.sizes() == at::IntArrayRef({samples, tokens}) && made.end.sizes() == made.start.sizes();
  if (fits) return made;
  return misfit("start_logits, end_logits and the tokens of the windows differ in number",
                "take a model that gives one logit of each for every token");
}

}  // namespace

expected<void> squad_spans::collect(const scored_part& part, std::vector<squad_span_row>& rows) const {
  static_assert(sizeof(token_place) == 2 * sizeof(std::int32_t));
  const window_batch batch = TROUPE_TRY(read_batch(part));
  const auto tokens = static_cast<std::size_t>(batch.start.size(1));
  const auto* places = reinterpret_cast<const token_place*>(batch.places.const_data_ptr<std::int32_t>());
  for (std::size_t row = 0; row < part.size(); ++row) {
    const std::int64_t* window = batch.windows.const_data_ptr<std::int64_t>() + row * window_columns;
    const std::size_t first = row * tokens;
    const window_logits logits{.start = {batch.start.const_data_ptr<float>() + first, tokens},
                               .end = {batch.end.const_data_ptr<float>() + first, tokens},
                               .places = {places + first, tokens}};
    const span_rules rules{static_cast<std::size_t>(window[2]), static_cast<std::size_t>(window[3])};
    for (const answer_span& each : best_spans(logits, rules)) {
      rows.push_back({.question = static_cast<std::uint64_t>(window[0]),
                      .window = static_cast<std::uint64_t>(window[1]),
                      .begin = each.begin,
                      .end = each.end,
                      .start_logit = static_cast<double>(each.start_logit),
                      .end_logit = static_cast<double>(each.end_logit)});
    }
  }
  return {};
}

metric_value squad_spans::compute(std::span<const squad_span_row> rows) const {
  return {name(), {count_field("spans", rows.size())}};
}

expected<metric_ptr> make_squad_spans(const metric_request& /*asked*/) {
  return std::make_shared<squad_spans>();
}

metric_value squad_value(const squad_totals& totals) {
  metric_value made{"squad",
                    {real_field("exact_match", totals.all.exact_match), real_field("f1", totals.all.f1),
                     count_field("total", totals.all.total)}};
  const auto add = [&](const std::string& prefix, const std::optional<squad_average>& average) {
    if (!average) return;
    made.fields.push_back(real_field(prefix + "exact", average->exact_match));
    made.fields.push_back(real_field(prefix + "f1", average->f1));
    made.fields.push_back(count_field(prefix + "total", average->total));
  };
  add("HasAns_", totals.with_answer);
  add("NoAns_", totals.without_answer);
  const auto add_best = [&](const std::string& name, const std::optional<best_threshold>& best) {
    if (!best) return;
    made.fields.push_back(real_field(name, best->value));
    made.fields.push_back(real_field(name + "_thresh", best->threshold));
  };
  add_best("best_exact", totals.best_exact);
  add_best("best_f1", totals.best_f1);
  return made;
}

}  // namespace troupe
