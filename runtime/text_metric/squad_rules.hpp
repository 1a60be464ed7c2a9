#pragma once

#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The official evaluation programs of SQuAD, evaluate-v1.1.py and evaluate-v2.0.py
/// (rajpurkar.github.io/SQuAD-explorer).
enum class squad_version { v1, v2 };

/// In lower case, without the punctuation of ASCII and without the words a, an and the, with one blank between words.
std::string normalize_answer(std::string_view answer);

/// How well a predicted answer agrees with the best of the true ones; each number is from 0 to 1.
struct answer_score {
  double exact = 0;
  double f1 = 0;
};

/// exact: the normalized texts are equal. f1: the harmonic mean of precision and recall over the words that both have,
/// each as often as the one has it that has it less often. Each is the greatest over `truths`. Of two texts without
/// words f1 is 0 in v1, and 1 in v2. In v2 true answers without words do not count, and where none is left the right
/// answer is the empty text.
answer_score score_answer(squad_version version, std::string_view answer, std::span<const std::string> truths);

}  // namespace troupe
