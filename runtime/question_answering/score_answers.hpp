#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/question_answering/squad_file.hpp"
#include "runtime/text_metric/squad_totals.hpp"

namespace troupe {

struct scored_answers {
  squad_totals totals;
  /// Questions without a prediction, which score 0.
  std::uint64_t missing = 0;
};

/// Predictions alone, as the official programs score them. `no_answer` may be empty; else questions that it lacks have
/// 0. A question without a prediction counts as wrong, which evaluate-v2.0.py does not say (it fails).
scored_answers score_answers(const squad_file& data, const std::map<std::string, std::string>& answers,
                             const std::map<std::string, double>& no_answer, double threshold);

}  // namespace troupe
