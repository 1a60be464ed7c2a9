// Goal: answers are chosen from logits by the rules that are stated: only tokens of the context, lengths, ties, NaN,
// padding, the null answer and its threshold. Method: small windows whose answers can be seen by hand; the trained
// model of data/questions compares whole runs with the rules of transformers (tests/cli/questions_test.cpp).
#include <cmath>

#include <gtest/gtest.h>

#include "runtime/question_answering/final_answers.hpp"

namespace troupe {
namespace {

/// [CLS] question [SEP] "aa" "bb" "cc" [SEP] padding
const std::vector<token_place> places = {no_context, no_context, no_context, {0, 2},
                                         {3, 5},     {6, 8},     no_context, padding_place};
const std::string three_words = "aa bb cc";

std::vector<answer_span> spans_of(const std::vector<float>& start, const std::vector<float>& end,
                                  const span_rules& rules = {}) {
  return best_spans({start, end, places}, rules);
}

std::string first_text(const std::vector<answer_span>& spans) {
  return choose_answer(squad_version::v1, three_words, spans, 20, 0).text;
}

TEST(spans, lie_in_the_context_and_have_their_end_behind_their_start) {
  const auto spans = spans_of({9, 9, 9, 1, 5, 2, 9, 99}, {9, 9, 9, 4, 1, 3, 9, 99});
  ASSERT_EQ(spans.size(), 7u);  // 6 pairs, and the null answer
  EXPECT_EQ(first_text(spans), "bb cc");
  EXPECT_EQ(spans[0].score(), 8);
  EXPECT_TRUE(spans.back().is_null());
  EXPECT_EQ(spans.back().score(), 18);
}

TEST(spans, are_bounded_in_length_and_number) {
  const std::vector<float> start = {0, 0, 0, 9, 1, 1, 0, 0};
  const std::vector<float> end = {0, 0, 0, 1, 2, 9, 0, 0};
  EXPECT_EQ(first_text(spans_of(start, end)), "aa bb cc");
  EXPECT_EQ(first_text(spans_of(start, end, {.max_answer_length = 2})), "aa bb");
  EXPECT_EQ(first_text(spans_of(start, end, {.max_answer_length = 1})), "aa");
  EXPECT_EQ(spans_of(start, end, {.n_best = 1}).size(), 2u);
  // the most likely start is of the question
  EXPECT_EQ(spans_of({0, 99, 0, 9, 1, 1, 0, 0}, end, {.n_best = 1}).size(), 1u);
}

TEST(spans, padding_is_no_token) {
  const auto one = spans_of({0, 0, 0, 1, 1, 1, 0, 99}, {0, 0, 0, 1, 1, 1, 0, 99}, {.n_best = 3});
  const auto other = spans_of({0, 0, 0, 1, 1, 1, 0, -99}, {0, 0, 0, 1, 1, 1, 0, -99}, {.n_best = 3});
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].begin, other[i].begin);
  EXPECT_EQ(one.size(), 4u);
}

TEST(spans, of_equal_scores_keep_one_order_and_nan_is_the_greatest) {
  EXPECT_EQ(first_text(spans_of(std::vector<float>(8, 0), std::vector<float>(8, 0))), "cc");
  EXPECT_EQ(first_text(spans_of({0, 0, 0, NAN, 5, 0, 0, 0}, {0, 0, 0, 0, 1, 0, 0, 0})), "aa bb");
}

TEST(answers, without_a_span_are_empty) {
  EXPECT_EQ(choose_answer(squad_version::v1, three_words, {}, 20, 0).text, "");
  EXPECT_EQ(choose_answer(squad_version::v2, three_words, {{-1, -1, 1, 1}}, 20, 0).text, "");
}

TEST(answers, of_version_2_are_empty_where_the_null_answer_is_better_by_the_threshold) {
  const std::vector<answer_span> spans = {{0, 2, 3, 3}, {-1, -1, 4, 4}, {3, 5, 1, 1}, {-1, -1, 3.5, 3.5}};
  const final_answer found = choose_answer(squad_version::v2, three_words, spans, 20, 0);
  EXPECT_EQ(found.text, "");
  EXPECT_EQ(found.best_text, "aa");
  EXPECT_EQ(found.null_difference, 1.0F);  // the least null answer of the windows, 7, minus 6
  EXPECT_EQ(choose_answer(squad_version::v2, three_words, spans, 20, 1).text, "aa");
  EXPECT_EQ(choose_answer(squad_version::v1, three_words, spans, 20, 0).text, "aa");
  EXPECT_EQ(found.candidates.size(), 3u);
  // beyond the n best the null answer is appended
  const std::vector<answer_span> low = {{0, 2, 3, 3}, {3, 5, 1, 1}, {-1, -1, 0, 0}};
  EXPECT_EQ(choose_answer(squad_version::v2, three_words, low, 1, 0).candidates.size(), 2u);
}

TEST(answers, from_damaged_rows_are_left_out) {
  const std::vector<answer_span> spans = {{0, 99, 9, 9}, {5, 3, 9, 9}, {0, INT64_MAX, 9, 9}, {6, 8, 1, 1}};
  EXPECT_EQ(choose_answer(squad_version::v1, three_words, spans, 20, 0).text, "cc");
}

}  // namespace
}  // namespace troupe
