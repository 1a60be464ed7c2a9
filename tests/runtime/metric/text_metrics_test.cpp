// Goal: multiple_choice and sentence_similarity are what lm-evaluation-harness and numpy compute, in any cut into
// micro-batches. Method: answers recorded by data/text/make.py, put into outputs that have these log-likelihoods; small
// cases by hand.
#include <cmath>
#include <fstream>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/metric/choice_scores.hpp"
#include "runtime/metric/sentence_pairs.hpp"
#include "tests/support/paths.hpp"
#include <troupe/metric.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using json = nlohmann::json;

at::Tensor integers(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}

/// A micro-batch of choices with one token each, whose log-likelihoods are those given: the logits of two tokens are
/// log p and log(1 - p).
struct choice_table {
  std::vector<std::int64_t> question, choice, choices, gold, characters, bytes;
  std::vector<double> likelihoods;

  [[nodiscard]] scored_part part(std::size_t begin, std::size_t end) const {
    const auto some = [&](const std::vector<std::int64_t>& all) {
      return integers(
          {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)});
    };
    const auto count = static_cast<std::int64_t>(end - begin);
    at::Tensor outputs = at::zeros({count, 2, 2}, at::kDouble);
    at::Tensor labels = at::full({count, 2}, -100, at::kLong);
    for (std::int64_t i = 0; i < count; ++i) {
      const double log_p = likelihoods[begin + static_cast<std::size_t>(i)];
      outputs[i][1][0] = log_p + 3;
      outputs[i][1][1] = std::log(-std::expm1(log_p)) + 3;
      labels[i][1] = 0;
    }
    named_tensors named;
    named.set("labels", labels);
    named.set("question", some(question));
    named.set("choice", some(choice));
    named.set("choices", some(choices));
    named.set("gold", some(gold));
    named.set("characters", some(characters));
    named.set("bytes", some(bytes));
    return {outputs, named};
  }
};

metric_value computed(const std::string& name, const std::vector<scored_part>& parts) {
  const metric_ptr metric = get(make_metric(name, 0));
  std::vector<std::byte> rows;
  for (const scored_part& each : parts) {
    const auto done = metric->update_words(each, {}, rows);
    EXPECT_TRUE(done) << to_string(done.error());
  }
  return metric->compute_total({{}, rows});
}

choice_table recorded_choices(const json& known) {
  choice_table made;
  std::ifstream lines(data_dir() / "text/questions.jsonl");
  std::int64_t question = 0;
  for (std::string line; std::getline(lines, line); ++question) {
    const json read = json::parse(line);
    const json& answer = known["questions"][static_cast<std::size_t>(question)];
    for (std::size_t i = 0; i < read["choices"].size(); ++i) {
      const auto text = read["choices"][i].get<std::string>();
      made.question.push_back(question);
      made.choice.push_back(static_cast<std::int64_t>(i));
      made.choices.push_back(static_cast<std::int64_t>(read["choices"].size()));
      made.gold.push_back(read["gold"].get<std::int64_t>());
      made.bytes.push_back(static_cast<std::int64_t>(text.size()));
      made.characters.push_back(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
      made.likelihoods.push_back(answer["log_likelihoods"][i].get<double>());
    }
  }
  return made;
}

TEST(multiple_choice, is_that_of_the_harness_in_every_cut) {
  const json known = json::parse(std::ifstream(data_dir() / "text/known.json"))["choices"];
  const choice_table table = recorded_choices(known);
  for (const std::size_t micro_batch : {std::size_t{1}, std::size_t{7}, table.question.size()}) {
    std::vector<scored_part> parts;
    for (std::size_t begin = 0; begin < table.question.size(); begin += micro_batch) {
      parts.push_back(table.part(begin, std::min(table.question.size(), begin + micro_batch)));
    }
    const metric_value found = computed("multiple_choice", parts);
    for (const char* field : {"acc", "acc_norm", "acc_bytes", "acc_stderr", "acc_norm_stderr", "acc_bytes_stderr"}) {
      EXPECT_NEAR(found.value(field), known[field].get<double>(), 1e-15) << field;
    }
    EXPECT_EQ(found.count("questions"), 61U);
    EXPECT_EQ(found.count("incomplete"), 0U);
  }
}

TEST(multiple_choice, leaves_out_questions_that_were_cut) {
  const choice_table table{{0, 0, 1, 1}, {0, 1, 0, 1}, {2, 2, 3, 3},    {0, 0, 0, 0},
                           {1, 1, 1, 1}, {1, 1, 1, 1}, {-1, -2, -1, -2}};
  const metric_value found = computed("multiple_choice", {table.part(0, 4)});
  EXPECT_EQ(found.count("questions"), 1U);
  EXPECT_EQ(found.count("incomplete"), 1U);
  EXPECT_EQ(found.value("acc"), 1);
  EXPECT_TRUE(std::isnan(found.value("acc_stderr")));
}

TEST(multiple_choice, takes_the_first_of_equal_choices_and_nan) {
  question_answers answers;
  EXPECT_FALSE(answers.add({0, 0, 2, 1, 1, 1, -2.0}));
  ASSERT_TRUE(answers.add({0, 1, 2, 1, 1, 1, -2.0}));
  EXPECT_EQ(answers.answer().best, 0U);
  EXPECT_FALSE(answers.add({1, 0, 2, 1, 1, 1, -2.0}));
  ASSERT_TRUE(answers.add({1, 1, 2, 1, 1, 1, std::nan("")}));
  EXPECT_EQ(answers.answer().best, 1U);
}

TEST(multiple_choice, refuses_other_outputs_and_labels) {
  const metric_ptr metric = get(make_metric("multiple_choice", 0));
  std::vector<std::byte> rows;
  const auto plain = metric->update_words({at::zeros({2, 3}), integers({0, 1})}, {}, rows);
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, error_code::metric_failed);
  EXPECT_THAT(plain.error().fix, HasSubstr("choices:FILE"));
}

named_tensors pair_labels(const std::vector<std::int64_t>& pair, const std::vector<std::int64_t>& side,
                          const std::vector<double>& score) {
  named_tensors made;
  made.set("pair", integers(pair));
  made.set("side", integers(side));
  if (!score.empty()) made.set("score", at::tensor(score, at::kDouble).to(at::kFloat));
  return made;
}

TEST(sentence_similarity, is_the_correlation_of_cosines_and_scores) {
  at::manual_seed(7);
  const at::Tensor all = at::randn({40, 5});
  std::vector<std::int64_t> pair, side;
  std::vector<double> score;
  for (std::int64_t i = 0; i < 40; ++i) {
    pair.push_back(i / 2);
    side.push_back(i % 2);
    score.push_back(static_cast<double>(i / 2 % 4));
  }
  const at::Tensor a = all.view({20, 2, 5}).select(1, 0).to(at::kDouble);
  const at::Tensor b = all.view({20, 2, 5}).select(1, 1).to(at::kDouble);
  const at::Tensor cosines = at::cosine_similarity(a, b, 1, 0);
  const auto correlation = [](const at::Tensor& x, const at::Tensor& y) {
    return at::corrcoef(at::stack({x, y}))[0][1].item<double>();
  };
  const auto ranks = [](const at::Tensor& x) {
    return x.unsqueeze(1).gt(x).sum(1).to(at::kDouble) + x.unsqueeze(1).eq(x).sum(1).to(at::kDouble) / 2;
  };
  const at::Tensor scores = at::tensor(score).view({20, 2}).select(1, 0).to(at::kDouble);
  for (const std::size_t micro_batch : {1U, 3U, 40U}) {  // 3 cuts pairs apart
    std::vector<scored_part> parts;
    for (std::size_t begin = 0; begin < 40; begin += micro_batch) {
      const std::size_t end = std::min<std::size_t>(40, begin + micro_batch);
      const auto some = [&](const auto& of) {
        return std::decay_t<decltype(of)>(of.begin() + static_cast<std::ptrdiff_t>(begin),
                                          of.begin() + static_cast<std::ptrdiff_t>(end));
      };
      parts.push_back({all.slice(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)),
                       pair_labels(some(pair), some(side), some(score))});
    }
    const metric_value found = computed("sentence_similarity", parts);
    EXPECT_EQ(found.count("count"), 20U);
    EXPECT_NEAR(found.value("mean_cosine"), cosines.mean().item<double>(), 1e-12);
    EXPECT_NEAR(found.value("pearson"), correlation(cosines, scores), 1e-12);
    EXPECT_NEAR(found.value("spearman"), correlation(ranks(cosines), ranks(scores)), 1e-12);
  }
}

TEST(sentence_similarity, needs_no_scores) {
  const at::Tensor both = at::tensor({1.0F, 0.0F, 1.0F, 1.0F}).view({2, 2});
  const metric_value found = computed("sentence_similarity", {{both, pair_labels({0, 0}, {0, 1}, {})}});
  EXPECT_NEAR(found.value("mean_cosine"), std::sqrt(0.5), 1e-15);
  EXPECT_TRUE(std::isnan(found.value("pearson")));
  EXPECT_TRUE(std::isnan(found.value("spearman")));
}

/// Rows that another process sent may have any values.
TEST(sentence_similarity, takes_no_harm_from_strange_rows) {
  sentence_pairs pairs;
  std::vector<std::byte> rows(64, std::byte{0xff});
  EXPECT_TRUE(pairs.add(rows).empty());
  rows.assign(24, std::byte{0});
  EXPECT_TRUE(pairs.add(rows).empty());
}

}  // namespace
}  // namespace troupe::testing
