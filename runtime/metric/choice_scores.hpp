#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/metric.hpp>

namespace troupe {

/// One choice of a question, with the log-likelihood that a language model gives it. A row of the metric
/// multiple_choice.
struct choice_score {
  std::uint64_t question = 0;
  /// Which of `choices` it is, and which is right, from 0.
  std::uint64_t choice = 0;
  std::uint64_t choices = 0;
  std::uint64_t gold = 0;
  /// Its text without the delimiter.
  std::uint64_t characters = 0;
  std::uint64_t bytes = 0;
  double log_likelihood = 0;
};

/// Appends the choices of one micro-batch: outputs [samples, places, vocabulary], and the labels of choices:FILE, of
/// which "labels" [samples, places] has the token that each place has to give, or -100. The log-likelihood is the sum
/// of log-softmaxes, computed in double in the order of the places. Errors: E0603 for other outputs and labels.
expected<void> append_choices(const std::string& metric, const scored_part& part, std::vector<choice_score>& into);

/// What a model answers to one question. Of equal choices the first one counts, and NaN counts as the greatest number,
/// as for numpy.argmax.
struct question_answer {
  std::uint64_t question = 0;
  std::uint64_t gold = 0;
  /// By the log-likelihood, and by that per character and per byte of the choice.
  std::uint64_t best = 0;
  std::uint64_t best_per_character = 0;
  std::uint64_t best_per_byte = 0;
  std::vector<double> log_likelihoods = {};
};

/// The answers to the questions all of whose choices are there, in the order of the rows, where the choices of one
/// question follow each other.
class question_answers {
 public:
  /// True where the question of `row` is complete with it: answer() is its answer.
  bool add(const choice_score& row);
  [[nodiscard]] const question_answer& answer() const noexcept { return answer_; }
  /// Questions that began and are not complete.
  [[nodiscard]] std::uint64_t incomplete() const noexcept { return begun_ - complete_; }

 private:
  std::vector<choice_score> rows_;
  question_answer answer_;
  std::uint64_t begun_ = 0;
  std::uint64_t complete_ = 0;
};

}  // namespace troupe
