#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/text_metric/squad_rules.hpp"

namespace troupe {

/// One question with its predicted answer.
struct scored_question {
  answer_score score = {};
  /// The data have an answer. v1: always.
  bool has_answer = true;
  /// The predicted answer is a text that is not empty.
  bool is_answered = true;
  /// How sure the model is that there is no answer: any number; v2 alone.
  std::optional<double> no_answer = {};
};

/// In percent, as the official programs print them.
struct squad_average {
  double exact_match = 0;
  double f1 = 0;
  std::uint64_t total = 0;
};

/// The greatest value that a threshold of `no_answer` gives, and the least threshold that gives it.
struct best_threshold {
  double value = 0;
  double threshold = 0;
};

struct squad_totals {
  squad_average all = {};
  /// v2: the questions that have an answer, and those that have none. Absent where there are none such.
  std::optional<squad_average> with_answer = {};
  std::optional<squad_average> without_answer = {};
  /// v2, where every question has `no_answer`.
  std::optional<best_threshold> best_exact = {};
  std::optional<best_threshold> best_f1 = {};
};

/// v2: a question whose `no_answer` is greater than `threshold` counts as not answered. The best thresholds are found
/// without it. NaN for a mean over no questions. Sums are made in the order of the questions.
squad_totals total_of(squad_version version, std::span<const scored_question> questions, double threshold);

}  // namespace troupe
