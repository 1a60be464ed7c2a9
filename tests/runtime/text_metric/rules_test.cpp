// Goal: what no recorded value can show. Method: values by hand; texts that are no UTF-8, and long ones.
#include <cmath>

#include <gtest/gtest.h>

#include "runtime/text_metric/bleu.hpp"
#include "runtime/text_metric/python_text.hpp"
#include "runtime/text_metric/squad_rules.hpp"
#include "runtime/text_metric/squad_totals.hpp"
#include "runtime/text_metric/word_error.hpp"

namespace troupe {
namespace {

TEST(rules, bytes_that_are_no_utf8_are_kept) {
  const std::string broken = "The \xff\xfe cat\xc3";
  EXPECT_EQ(python::split(broken).size(), 3u);
  EXPECT_EQ(normalize_answer("  " + broken + "!"), normalize_answer(broken));
  EXPECT_EQ(score_answer(squad_version::v1, broken, std::vector<std::string>{broken}).exact, 1);
  EXPECT_EQ(count_word_errors(broken, broken).edits, 0u);
  EXPECT_NEAR(bleu_of(count_bleu(broken + " a", std::vector<std::string>{broken + " a"}, bleu_words::mteval_13a),
                      bleu_smoothing::none)
                  .score,
              100, 1e-9);
}

TEST(rules, a_long_text_takes_little_memory_and_time) {
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "word" + std::to_string(i % 7) + " ";
  EXPECT_EQ(count_word_errors(many, many + "more").edits, 1u);
  EXPECT_EQ(count_word_errors("", many).words, 0u);
  EXPECT_EQ(count_word_errors("", many).rate(), 2000);
  const std::string letters(1 << 20, 'x');
  EXPECT_EQ(score_answer(squad_version::v2, letters, std::vector<std::string>{letters}).f1, 1);
}

TEST(rules, a_mean_over_no_questions_is_no_number) {
  const squad_totals none = total_of(squad_version::v2, {}, 1);
  EXPECT_TRUE(std::isnan(none.all.exact_match));
  EXPECT_EQ(none.all.total, 0u);
  EXPECT_FALSE(none.with_answer || none.without_answer || none.best_exact);
}

TEST(rules, an_unanswerable_question_is_right_where_the_answer_is_empty) {
  EXPECT_EQ(score_answer(squad_version::v2, "", {}).exact, 1);
  EXPECT_EQ(score_answer(squad_version::v2, "the", {}).exact, 1);
  EXPECT_EQ(score_answer(squad_version::v2, "cat", {}).f1, 0);
}

}  // namespace
}  // namespace troupe
