#include "runtime/question_answering/score_answers.hpp"

#include <vector>

namespace troupe {

scored_answers score_answers(const squad_file& data, const std::map<std::string, std::string>& answers,
                             const std::map<std::string, double>& no_answer, double threshold) {
  scored_answers made;
  std::vector<scored_question> questions;
  for (const squad_question& each : data.questions) {
    scored_question scored{.has_answer = !each.answers.empty(), .is_answered = false};
    if (const auto found = answers.find(each.id); found != answers.end()) {
      scored.score = score_answer(data.version, found->second, each.answers);
      scored.is_answered = !found->second.empty();
      if (!no_answer.empty()) {
        const auto number = no_answer.find(each.id);
        scored.no_answer = number == no_answer.end() ? 0 : number->second;
      }
    } else {
      ++made.missing;
    }
    questions.push_back(scored);
  }
  made.totals = total_of(data.version, questions, threshold);
  return made;
}

}  // namespace troupe
