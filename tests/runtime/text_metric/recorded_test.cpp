// Goal: scores of texts are those of the programs that people compare with: SQuAD v1.1 and v2.0 with their best
// thresholds, word error rate, BLEU. Method: thousands of random texts with letters of many scripts, every kind of
// space, and edge cases; recorded/record.py has asked the programs, and names their versions.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/text_metric/bleu.hpp"
#include "runtime/text_metric/python_text.hpp"
#include "runtime/text_metric/squad_rules.hpp"
#include "runtime/text_metric/squad_totals.hpp"
#include "runtime/text_metric/word_error.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using nlohmann::json;
using texts = std::vector<std::string>;

const json& recorded() {
  static const json all = [] {
    std::ifstream file(testing::source_dir() / "tests/runtime/text_metric/recorded/text_metrics.json");
    return json::parse(file);
  }();
  return all;
}

std::string text_of(const json& value) {
  return value.get<std::string>();
}

void expect_score(const answer_score& found, const json& wanted, const std::string& what) {
  EXPECT_EQ(found.exact, wanted["exact"].get<double>()) << what;
  EXPECT_NEAR(found.f1, wanted["f1"].get<double>(), 1e-12) << what;
}

TEST(recorded, texts_are_split_and_lowered_as_python_does) {
  for (const json& each : recorded()["python"]) {
    const std::string text = text_of(each["text"]);
    EXPECT_EQ(python::lower(text), text_of(each["lower"]));
    const auto words = python::split(text);
    EXPECT_EQ(texts(words.begin(), words.end()), each["split"].get<texts>()) << text;
  }
}

TEST(recorded, answers_score_as_in_the_official_programs) {
  for (const json& each : recorded()["squad"]) {
    const std::string answer = text_of(each["answer"]);
    const auto truths = each["truths"].get<texts>();
    EXPECT_EQ(normalize_answer(answer), text_of(each["normalized"]));
    expect_score(score_answer(squad_version::v1, answer, truths), each["v1"], "v1 " + each.dump());
    expect_score(score_answer(squad_version::v2, answer, truths), each["v2"], "v2 " + each.dump());
  }
}

void expect_average(const std::optional<squad_average>& found, const json& result, const std::string& prefix) {
  ASSERT_EQ(found.has_value(), result.contains(prefix + "total")) << prefix;
  if (!found) return;
  EXPECT_NEAR(found->exact_match, result[prefix + "exact"].get<double>(), 1e-9);
  EXPECT_NEAR(found->f1, result[prefix + "f1"].get<double>(), 1e-9);
  EXPECT_EQ(found->total, result[prefix + "total"].get<std::uint64_t>());
}

TEST(recorded, totals_and_best_thresholds_of_v2) {
  for (const json& each : recorded()["squad_v2"]) {
    std::vector<scored_question> questions;
    for (const json& one : each["questions"]) {
      const auto truths = one["truths"].get<texts>();
      const std::string answer = text_of(one["answer"]);
      questions.push_back({.score = score_answer(squad_version::v2, answer, truths),
                           .has_answer = !truths.empty(),
                           .is_answered = !answer.empty(),
                           .no_answer = one["no_answer"].get<double>()});
    }
    const squad_totals found = total_of(squad_version::v2, questions, each["threshold"].get<double>());
    const json& result = each["result"];
    expect_average(found.all, result, "");
    expect_average(found.with_answer, result, "HasAns_");
    expect_average(found.without_answer, result, "NoAns_");
    ASSERT_TRUE(found.best_exact && found.best_f1);
    EXPECT_NEAR(found.best_exact->value, result["best_exact"].get<double>(), 1e-9);
    EXPECT_EQ(found.best_exact->threshold, result["best_exact_thresh"].get<double>());
    EXPECT_NEAR(found.best_f1->value, result["best_f1"].get<double>(), 1e-9);
    EXPECT_EQ(found.best_f1->threshold, result["best_f1_thresh"].get<double>());
  }
}

TEST(recorded, word_errors_are_those_of_jiwer) {
  for (const json& each : recorded()["wer"]) {
    word_errors total;
    for (const json& pair : each["pairs"]) {
      const word_errors one = count_word_errors(text_of(pair[0]), text_of(pair[1]));
      total.edits += one.edits;
      total.words += one.words;
    }
    EXPECT_EQ(total.edits, each["edits"].get<std::uint64_t>()) << each.dump();
    EXPECT_EQ(total.words, each["words"].get<std::uint64_t>()) << each.dump();
    EXPECT_NEAR(total.rate(), each["wer"].get<double>(), 1e-12);
  }
}

TEST(recorded, lines_are_split_as_mteval_does) {
  for (const json& each : recorded()["13a"]) EXPECT_EQ(tokenize_13a(text_of(each["line"])), text_of(each["words"]));
}

void expect_bleu(const json& lines, bleu_words words, bleu_smoothing smoothing, const json& wanted) {
  bleu_counts counts;
  for (const json& line : lines) {
    counts += count_bleu(text_of(line["hypothesis"]), line["references"].get<texts>(), words);
  }
  const bleu_score found = bleu_of(counts, smoothing);
  EXPECT_EQ(counts.words, wanted["words"].get<std::uint64_t>()) << lines.dump();
  EXPECT_EQ(counts.reference_words, wanted["reference_words"].get<std::uint64_t>()) << lines.dump();
  EXPECT_NEAR(found.score, wanted["score"].get<double>(), 1e-9) << lines.dump();
  EXPECT_NEAR(found.brevity_penalty, wanted["brevity_penalty"].get<double>(), 1e-12);
  for (std::size_t i = 0; i < bleu_orders; ++i) {
    EXPECT_NEAR(found.precisions[i], wanted["precisions"][i].get<double>(), 1e-9) << i << " " << lines.dump();
  }
}

TEST(recorded, bleu_is_that_of_sacrebleu) {
  for (const json& each : recorded()["bleu"]) {
    const json& scores = each["scores"];
    expect_bleu(each["lines"], bleu_words::mteval_13a, bleu_smoothing::exponential, scores["13a exp"]);
    expect_bleu(each["lines"], bleu_words::mteval_13a, bleu_smoothing::none, scores["13a none"]);
    expect_bleu(each["lines"], bleu_words::spaces, bleu_smoothing::exponential, scores["none exp"]);
    expect_bleu(each["lines"], bleu_words::spaces, bleu_smoothing::none, scores["none none"]);
  }
}

}  // namespace
}  // namespace troupe
