#include "runtime/question_answering/answer_spans.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

bool is_greater(float a, float b) noexcept {
  return std::isnan(a) ? !std::isnan(b) : a > b;
}

/// The tokens with the greatest logits, greatest first.
std::vector<std::size_t> first_tokens(std::span<const float> logits, std::span<const token_place> places,
                                      std::size_t count) {
  std::vector<std::size_t> tokens;
  for (std::size_t i = places.size(); i-- > 0;) {
    if (places[i].begin != padding_place.begin) tokens.push_back(i);
  }
  std::ranges::stable_sort(tokens, [&](std::size_t a, std::size_t b) { return is_greater(logits[a], logits[b]); });
  tokens.resize(std::min(tokens.size(), count));
  return tokens;
}

}  // namespace

void sort_spans(std::vector<answer_span>& spans) {
  std::ranges::stable_sort(spans,
                           [](const answer_span& a, const answer_span& b) { return is_greater(a.score(), b.score()); });
}

std::vector<answer_span> best_spans(const window_logits& window, const span_rules& rules) {
  std::vector<answer_span> spans;
  const std::vector<std::size_t> ends = first_tokens(window.end, window.places, rules.n_best);
  for (const std::size_t start : first_tokens(window.start, window.places, rules.n_best)) {
    for (const std::size_t end : ends) {
      const bool is_in_context = window.places[start].begin >= 0 && window.places[end].begin >= 0;
      if (!is_in_context || end < start || end - start >= rules.max_answer_length) continue;
      spans.push_back({window.places[start].begin, window.places[end].end, window.start[start], window.end[end]});
    }
  }
  sort_spans(spans);
  spans.resize(std::min(spans.size(), rules.n_best));
  if (!window.start.empty()) spans.push_back({-1, -1, window.start.front(), window.end.front()});
  return spans;
}

}  // namespace troupe
