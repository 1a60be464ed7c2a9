#include "runtime/question_answering/final_answers.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

bool lies_in(const std::string& context, const answer_span& span) {
  const auto size = static_cast<std::int64_t>(context.size());
  return 0 <= span.begin && span.begin <= span.end && span.end <= size;
}

/// NaN where a score is NaN.
void set_probabilities(std::vector<answer_candidate>& candidates) {
  double greatest = -INFINITY;
  const auto score_of = [](const answer_candidate& each) {
    return static_cast<double>(each.start_logit + each.end_logit);
  };
  for (const answer_candidate& each : candidates) greatest = std::max(greatest, score_of(each));
  double sum = 0;
  for (answer_candidate& each : candidates) sum += each.probability = std::exp(score_of(each) - greatest);
  for (answer_candidate& each : candidates) each.probability /= sum;
}

}  // namespace

final_answer choose_answer(squad_version version, const std::string& context, const std::vector<answer_span>& spans,
                           std::size_t n_best, double null_threshold) {
  const bool may_be_null = version == squad_version::v2;
  std::vector<answer_span> sorted;
  std::optional<answer_span> null;
  for (const answer_span& each : spans) {
    if (each.is_null()) {
      if (!null || each.score() < null->score()) null = each;
    } else if (lies_in(context, each)) {
      sorted.push_back(each);
    }
  }
  if (may_be_null && null) sorted.push_back(*null);
  sort_spans(sorted);
  sorted.resize(std::min(sorted.size(), n_best));
  const bool has_null = std::ranges::any_of(sorted, &answer_span::is_null);
  if (may_be_null && null && !has_null) sorted.push_back(*null);

  final_answer made;
  const answer_span* best = nullptr;
  for (const answer_span& each : sorted) {
    std::string text;
    if (!each.is_null()) {
      text = context.substr(static_cast<std::size_t>(each.begin), static_cast<std::size_t>(each.end - each.begin));
    }
    if (best == nullptr && !text.empty()) {
      best = &each;
      made.best_text = text;
    }
    made.candidates.push_back({std::move(text), 0, each.start_logit, each.end_logit});
  }
  set_probabilities(made.candidates);
  if (!may_be_null) {
    made.text = made.candidates.empty() ? std::string() : made.candidates.front().text;
    return made;
  }
  if (null && best != nullptr) made.null_difference = null->score() - best->start_logit - best->end_logit;
  const bool is_null = made.null_difference && static_cast<double>(*made.null_difference) > null_threshold;
  if (!is_null) made.text = made.best_text;
  return made;
}

}  // namespace troupe
