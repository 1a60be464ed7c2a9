#include "runtime/text_metric/squad_totals.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace troupe {

namespace {

/// 100 * sum / count, in the official programs' order of operations.
squad_average average_of(std::span<const answer_score> scores) {
  squad_average made;
  for (const answer_score& each : scores) {
    made.exact_match += each.exact;
    made.f1 += each.f1;
  }
  made.total = scores.size();
  made.exact_match = 100 * made.exact_match / static_cast<double>(made.total);
  made.f1 = 100 * made.f1 / static_cast<double>(made.total);
  return made;
}

std::optional<squad_average> average_of_some(const std::vector<answer_score>& scores) {
  return scores.empty() ? std::nullopt : std::optional(average_of(scores));
}

/// Begins with a threshold below all questions, so that none counts as answered, and lets in one after the other, the
/// one first that most surely has an answer.
best_threshold find_best(std::span<const scored_question> questions, double answer_score::*value) {
  std::vector<std::size_t> order(questions.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return *questions[at].no_answer; });
  double now = 0;
  for (const scored_question& each : questions) now += each.has_answer ? 0 : 1;
  best_threshold best{now, 0};
  for (const std::size_t at : order) {
    const scored_question& let_in = questions[at];
    now += let_in.has_answer ? let_in.score.*value : let_in.is_answered ? -1 : 0;
    if (now > best.value) best = {now, *let_in.no_answer};
  }
  best.value = 100 * best.value / static_cast<double>(questions.size());
  return best;
}

}  // namespace

squad_totals total_of(squad_version version, std::span<const scored_question> questions, double threshold) {
  std::vector<answer_score> all;
  std::vector<answer_score> with_answer;
  std::vector<answer_score> without_answer;
  for (const scored_question& each : questions) {
    answer_score score = each.score;
    if (version == squad_version::v2 && each.no_answer && *each.no_answer > threshold) {
      score.exact = score.f1 = each.has_answer ? 0 : 1;
    }
    all.push_back(score);
    (each.has_answer ? with_answer : without_answer).push_back(score);
  }
  squad_totals made;
  made.all = average_of(all);
  if (version == squad_version::v1) return made;
  made.with_answer = average_of_some(with_answer);
  made.without_answer = average_of_some(without_answer);
  const auto is_sure = [](const scored_question& each) { return each.no_answer.has_value(); };
  if (questions.empty() || !std::ranges::all_of(questions, is_sure)) return made;
  made.best_exact = find_best(questions, &answer_score::exact);
  made.best_f1 = find_best(questions, &answer_score::f1);
  return made;
}

}  // namespace troupe
