#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/question_answering/answer_spans.hpp"
#include "runtime/question_answering/squad_file.hpp"

namespace troupe {

struct answer_candidate {
  std::string text;
  /// The softmax of the scores of all candidates of a question.
  double probability = 0;
  float start_logit = 0;
  float end_logit = 0;
};

/// What a model says to one question.
struct final_answer {
  /// v2: empty where the context does not say it.
  std::string text;
  /// The best text that is not empty; empty where there is none.
  std::string best_text;
  /// v2: the score of the null answer minus that of best_text: how sure the model is that there is no answer.
  std::optional<float> null_difference;
  /// Best first; v2: the null answer among them.
  std::vector<answer_candidate> candidates;
};

/// `spans`: those of best_spans() of all windows of the question, one window after another. v2: the null answer of a
/// question is that of the window where its score is least, and the text is empty where null_difference is greater than
/// `null_threshold`. Spans that do not lie in the context, which a damaged worker may send, are left out.
final_answer choose_answer(squad_version version, const std::string& context, const std::vector<answer_span>& spans,
                           std::size_t n_best, double null_threshold);

}  // namespace troupe
