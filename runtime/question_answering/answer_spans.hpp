#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Where a token of a window stands in the context: bytes [begin, end).
struct token_place {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};
/// A token of the question, or one such as [CLS] that was added.
inline constexpr token_place no_context{-1, -1};
inline constexpr token_place padding_place{-2, -2};

/// What one window says: for each token, how likely an answer begins with it and ends with it.
struct window_logits {
  std::span<const float> start;
  std::span<const float> end;
  std::span<const token_place> places;
};

/// A part of the context, bytes [begin, end). Both are -1 for the answer that the context does not say it.
struct answer_span {
  std::int64_t begin = -1;
  std::int64_t end = -1;
  float start_logit = 0;
  float end_logit = 0;

  [[nodiscard]] float score() const noexcept { return start_logit + end_logit; }
  [[nodiscard]] bool is_null() const noexcept { return begin < 0; }
};

struct span_rules {
  /// How many starts, ends and spans are looked at.
  std::size_t n_best = 20;
  /// In tokens.
  std::size_t max_answer_length = 30;
};

/// The `n_best` spans of a window with the greatest score, greatest first, by the rules of the scripts of the package
/// transformers for question answering: among the n_best most likely starts and ends of all tokens but padding, each
/// pair that lies in the context, with the end not before the start, and with at most max_answer_length tokens. Of
/// equal starts, or ends, the later token comes first; of equal scores the span whose start, then whose end comes first
/// in that order. NaN counts as the greatest number. Behind them stands the null answer, the logits of the first token.
std::vector<answer_span> best_spans(const window_logits& window, const span_rules& rules);

/// Puts spans of equal score in the order in which they were.
void sort_spans(std::vector<answer_span>& spans);

}  // namespace troupe
