#include "runtime/text_metric/squad_rules.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/text_metric/python_text.hpp"

namespace troupe {

namespace {

constexpr std::string_view punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

std::string without_punctuation(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for (const char each : text) {
    if (punctuation.find(each) == std::string_view::npos) kept += each;
  }
  return kept;
}

/// An article is a whole run of word characters: there is \b on both sides.
std::string without_articles(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  std::size_t run = 0;
  const auto end_run = [&](std::size_t end) {
    const std::string_view word = text.substr(run, end - run);
    if (word == "a" || word == "an" || word == "the") {
      kept += ' ';
    } else {
      kept += word;
    }
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t here = at;
    if (python::is_word(python::next_character(text, at))) continue;
    end_run(here);
    kept += text.substr(here, at - here);
    run = at;
  }
  end_run(text.size());
  return kept;
}

using word_list = std::vector<std::string_view>;

double f1_of(squad_version version, const word_list& answer, const word_list& truth) {
  if (version == squad_version::v2 && (answer.empty() || truth.empty())) return answer == truth ? 1 : 0;
  std::map<std::string_view, std::int64_t> counts;
  for (const std::string_view each : truth) ++counts[each];
  std::int64_t same = 0;
  for (const std::string_view each : answer) {
    const auto found = counts.find(each);
    if (found != counts.end() && found->second-- > 0) ++same;
  }
  if (same == 0) return 0;
  const double precision = static_cast<double>(same) / static_cast<double>(answer.size());
  const double recall = static_cast<double>(same) / static_cast<double>(truth.size());
  return (2 * precision * recall) / (precision + recall);
}

}  // namespace

std::string normalize_answer(std::string_view answer) {
  return python::with_single_blanks(without_articles(without_punctuation(python::lower(answer))));
}

answer_score score_answer(squad_version version, std::string_view answer, std::span<const std::string> truths) {
  const std::string found = normalize_answer(answer);
  const word_list found_words = python::split(found);
  std::vector<std::string> wanted;
  for (const std::string& truth : truths) {
    std::string normalized = normalize_answer(truth);
    if (version == squad_version::v1 || !normalized.empty()) wanted.push_back(std::move(normalized));
  }
  if (wanted.empty() && version == squad_version::v2) wanted.emplace_back();
  answer_score best;
  for (const std::string& truth : wanted) {
    best.exact = std::max(best.exact, truth == found ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, f1_of(version, found_words, python::split(truth)));
  }
  return best;
}

}  // namespace troupe
