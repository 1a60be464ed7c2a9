// Goal: a metric that does not fit model or data is told from the first micro-batch, with what was seen and a fix that
// can be acted on. Method: one case for each way not to fit, and that everything that fits passes.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/metric/metric_scorer.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "tests/runtime/metric/one_part.hpp"
#include <troupe/metric_of.hpp>

namespace troupe {
namespace {

using ::testing::HasSubstr;

activation first_micro_batch(const payload_ptr& labels, std::uint64_t samples = 4) {
  activation input;
  input.samples = {0, samples};
  input.labels = labels;
  return input;
}

expected<void> judged(const std::vector<metric_ptr>& metrics, const at::Tensor& outputs, const at::Tensor& labels) {
  return metric_scorer(metrics).judge(make_tensors(outputs), first_micro_batch(make_tensors(labels)));
}

void expect_told(const std::string& name, const at::Tensor& outputs, const at::Tensor& labels, const std::string& cause,
                 const std::string& fix) {
  const auto verdict = judged({get(make_metric(name, 5))}, outputs, labels);
  ASSERT_FALSE(verdict.has_value()) << name << ": " << cause;
  EXPECT_EQ(verdict.error().code, error_code::metric_does_not_fit);
  EXPECT_THAT(verdict.error().where, HasSubstr("metric " + name));
  EXPECT_THAT(verdict.error().cause, HasSubstr(cause));
  EXPECT_THAT(verdict.error().fix, HasSubstr(fix));
}

const at::Tensor& class_labels() {
  static const at::Tensor labels = at::tensor({0, 1, 2, 3}).to(at::kLong);
  return labels;
}

TEST(fit, labels_that_are_no_classes) {
  expect_told("accuracy", at::randn({4, 5}), at::rand({4}), "found Float [4]", "use one of: mae, mse");
  expect_told("f1", at::randn({4, 1}), at::rand({4}), "found Float [4]", "for regression use one of: mae, mse");
  expect_told("accuracy", at::randn({4}), at::rand({4}), "found Float [4]", "for regression use one of: mae, mse");
}

TEST(fit, outputs_of_another_rank_or_too_few) {
  expect_told("accuracy", at::randn({4, 5, 8, 8}), class_labels(), "found Float [4, 5, 8, 8]", "class scores");
  expect_told("top9", at::randn({4, 5}), class_labels(), "at least 9 outputs per sample, found 5", "a K of 5 or less");
  expect_told("accuracy", at::randn({4, 3}), class_labels(), "found 3", "model and data belong together");
}

/// The fix, followed to the letter.
TEST(fit, labels_of_another_form_are_told_how_to_become_classes) {
  at::manual_seed(3);
  const at::Tensor outputs = at::randn({4, 5});
  const at::Tensor one_hot = at::one_hot(class_labels(), 5);
  for (const char* name : {"accuracy", "top2", "per_class_accuracy", "confusion_matrix", "cross_entropy", "f1"}) {
    const std::vector<metric_ptr> metric = {get(make_metric(name, 5))};
    expect_told(name, outputs, one_hot, "found Long [4, 5]", "of one-hot labels it is labels.argmax(1)");
    expect_told(name, outputs, one_hot.to(at::kFloat), "found Float [4, 5]",
                "of one-hot labels it is labels.argmax(1)");
    expect_told(name, outputs, one_hot.to(at::kFloat), "found Float [4, 5]", "for regression use one of: mae, mse");
    expect_told(name, outputs, at::one_hot(class_labels(), 7), "found Long [4, 7]", "labels.argmax(1)");
    EXPECT_TRUE(judged(metric, outputs, one_hot.argmax(1)));
    expect_told(name, outputs, class_labels().view({4, 1, 1}), "found Long [4, 1, 1]", "labels.reshape(-1)");
    EXPECT_TRUE(judged(metric, outputs, class_labels().view({4, 1, 1}).reshape(-1)));
    for (const at::ScalarType type : {at::kInt, at::kByte, at::kShort}) {
      expect_told(name, outputs, class_labels().to(type), "[4]", "labels.to(at::kLong)");
      EXPECT_TRUE(judged(metric, outputs, class_labels().to(type).to(at::kLong)));
    }
    EXPECT_TRUE(judged(metric, outputs, class_labels().unsqueeze(1))) << "[N, 1] as Keras keeps them";
  }
}

/// argmax would choose one label of several, and none where there is none.
TEST(fit, several_labels_of_a_sample_are_sent_to_their_metrics) {
  at::manual_seed(3);
  const at::Tensor outputs = at::randn({4, 5});
  for (const at::Tensor& labels :
       {at::ones({4, 5}), at::eye(5).slice(0, 0, 4).to(at::kLong).index_fill(0, at::tensor({1}, at::kLong), 0)}) {
    for (const char* name : {"accuracy", "f1", "cross_entropy"}) {
      expect_told(name, outputs, labels, "[4, 5]", "several labels use one of: auroc, average_precision, log_loss");
    }
    for (const char* name :
         {"auroc", "average_precision", "log_loss:from=logits", "mean_average_precision", "subset_accuracy:threshold=0",
          "multilabel_accuracy:threshold=0", "hamming_loss:threshold=0"}) {
      EXPECT_TRUE(judged({get(make_metric(name, 5))}, outputs, labels)) << name;
    }
  }
}

TEST(fit, classes_where_numbers_are_wanted) {
  expect_told("mae", at::randn({4, 5}), class_labels(), "outputs Float [4, 5] and labels Long [4]",
              "use one of: accuracy, topK");
}

TEST(fit, nll_of_what_are_no_log_probabilities) {
  at::manual_seed(1);
  const at::Tensor logits = at::randn({4, 5}) * 4;
  const at::Tensor fine = at::log_softmax(logits, 1);
  expect_told("nll", logits, class_labels(), "outputs Float [4, 5] whose exponentials add up to", "cross_entropy");
  expect_told("nll", fine.exp(), class_labels(), "exponentials add up to", "log_softmax");
  at::Tensor last = fine.clone();
  last[3] = logits[3];
  expect_told("nll", last, class_labels(), "in sample 3", "cross_entropy");
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    EXPECT_TRUE(judged({get(make_metric("nll", 5))}, fine.to(type), class_labels()).has_value()) << type;
    EXPECT_TRUE(judged({get(make_metric("cross_entropy", 5))}, logits.to(type), class_labels()).has_value()) << type;
  }
}

TEST(fit, wide_rows_of_log_probabilities_in_the_narrowest_type_pass) {
  at::manual_seed(2);
  for (const double scale : {0.1, 1.0, 10.0, 100.0}) {
    const at::Tensor fine = at::log_softmax(at::randn({4, 4096}) * scale, 1).to(at::kBFloat16);
    EXPECT_TRUE(judged({get(make_metric("nll", 5))}, fine, class_labels()).has_value()) << scale;
  }
}

TEST(fit, a_row_of_nan_is_not_judged) {
  EXPECT_TRUE(judged({get(make_metric("nll", 5))}, at::full({4, 5}, NAN), class_labels()).has_value());
}

TEST(fit, missing_and_several_tensors) {
  const std::vector<metric_ptr> metrics = {get(make_metric("mae", 0))};
  const payload_ptr two = std::make_shared<const tensor_set>(std::vector<at::Tensor>{at::zeros({4}), at::ones({4})},
                                                             std::vector<std::string>{"start", "end"});
  const payload_ptr outputs = make_tensors(at::ones({4}));
  const auto told = [](const expected<void>& verdict) { return verdict ? "nothing" : to_string(verdict.error()); };
  EXPECT_THAT(told(metric_scorer(metrics).judge(outputs, first_micro_batch(two))),
              HasSubstr("found 2: start, end\n  fix: choose one, --score-label NAME, or sink_options::label"));
  EXPECT_THAT(told(metric_scorer(metrics).judge(two, first_micro_batch(outputs))), HasSubstr("sink_options::tensor"));
  EXPECT_THAT(told(metric_scorer(metrics, {.label = "stop"}).judge(outputs, first_micro_batch(two))),
              HasSubstr("no tensor \"stop\" among the labels: start, end"));
  EXPECT_THAT(told(metric_scorer(metrics).judge(outputs, first_micro_batch(nullptr))), HasSubstr("has no labels"));
  EXPECT_THAT(told(metric_scorer(metrics).judge(outputs, first_micro_batch(outputs, 7))), HasSubstr("expected 7 rows"));
  EXPECT_EQ(told(metric_scorer(metrics, {"end", "end"}).judge(two, first_micro_batch(two))), "nothing");
}

TEST(fit, a_label_by_name_is_the_one_that_is_scored) {
  const payload_ptr labels = std::make_shared<const tensor_set>(std::vector<at::Tensor>{at::zeros({4}), at::ones({4})},
                                                                std::vector<std::string>{"start", "end"});
  for (const auto& [label, sum] : {std::pair{"start", 4.0}, std::pair{"end", 0.0}}) {
    metric_scorer scorer({get(make_metric("mae", 0))}, {.label = label});
    score into;
    get(scorer.evaluate(make_tensors(at::ones({4})), first_micro_batch(labels), into));
    const metric_ptr mae = get(make_metric("mae", 0));
    EXPECT_EQ(value_of(*mae, std::span(into.words).first(mae->words())).value("sum"), sum) << label;
  }
}

TEST(fit, an_empty_part_of_a_route_fits) {
  activation empty = first_micro_batch(nullptr);
  empty.rows = std::make_shared<const row_set>();
  EXPECT_TRUE(metric_scorer({get(make_metric("nll", 5))}).judge(nullptr, empty).has_value());
}

class throwing_metric final : public mean_metric {
 public:
  throwing_metric() : mean_metric("throwing") {}

 private:
  [[nodiscard]] expected<void> update(const at::Tensor&, const at::Tensor&, mean_state&) const override {
    throw std::runtime_error("no patience");
  }
};

TEST(fit, what_a_metric_throws_is_told_with_its_name) {
  const auto verdict = judged({std::make_shared<throwing_metric>()}, at::ones({4}), at::ones({4}));
  ASSERT_FALSE(verdict.has_value());
  EXPECT_EQ(verdict.error().code, error_code::metric_does_not_fit);
  EXPECT_THAT(verdict.error().where, HasSubstr("metric throwing"));
  EXPECT_THAT(verdict.error().cause, HasSubstr("no patience"));
}

/// The fix, followed to the letter, is accepted.
TEST(fit, scores_say_what_they_are) {
  at::manual_seed(4);
  const at::Tensor logits = at::randn({4, 5}) * 3;
  const at::Tensor chances = logits.softmax(1);
  for (const std::string name : {"log_loss", "brier", "calibration_error", "auroc", "average_precision:bins=8"}) {
    const std::string from = name + ":from=probabilities";
    expect_told(name, chances, class_labels(), "look like probabilities", "write " + name + ":from=probabilities");
    EXPECT_TRUE(judged({get(make_metric(from, 5))}, chances, class_labels())) << name;
    EXPECT_TRUE(judged({get(make_metric(name + ":from=logits", 5))}, chances, class_labels())) << name;
    EXPECT_TRUE(judged({get(make_metric(name, 5))}, logits, class_labels())) << name;
    const auto verdict = judged({get(make_metric(from, 5))}, logits, class_labels());
    ASSERT_FALSE(verdict) << name;
    EXPECT_THAT(verdict.error().cause, HasSubstr("expected probabilities, from 0 to 1 with a sum of 1"));
  }
}

TEST(fit, one_output_needs_a_threshold) {
  const at::Tensor labels = at::tensor({0, 1, 1, 0}).to(at::kLong);
  for (const std::string name : {"accuracy", "f1", "matthews", "confusion_matrix"}) {
    const auto verdict = judged({get(make_metric(name, 2))}, at::randn({4}), labels);
    ASSERT_FALSE(verdict) << name;
    EXPECT_THAT(verdict.error().fix, HasSubstr("write " + name + ":threshold=0 for logits"));
    EXPECT_TRUE(judged({get(make_metric(name + ":threshold=0", 2))}, at::randn({4, 1}), labels)) << name;
  }
  EXPECT_FALSE(judged({get(make_metric("hamming_loss", 2))}, at::randn({4, 3}), at::ones({4, 3})));
  EXPECT_TRUE(judged({get(make_metric("hamming_loss:threshold=0", 2))}, at::randn({4, 3}), at::ones({4, 3})));
}

TEST(fit, weights_columns_and_labels_of_another_number) {
  expect_told("nll:weight=1+2", at::randn({4, 5}).log_softmax(1), class_labels(), "it has 2 weights, and the model 5",
              "a weight for each class");
  expect_told("pearson", at::randn({4, 2}), at::randn({4, 2}), "expected one output per sample", "mae, mse or rmse");
  expect_told("auroc:bins=4:labels=2", at::randn({4, 3}), at::ones({4, 3}), "for 2 labels of a sample, found 3",
              "auroc:bins=4:labels=3");
  expect_told("auroc:from=logits:bins=4:labels=2", at::randn({4, 3}), at::ones({4, 3}), "found 3",
              "write auroc:from=logits:bins=4:labels=3");
  expect_told("average_precision:average=micro:bins=4:labels=2", at::randn({4, 3}), at::ones({4, 3}), "found 3",
              "write average_precision:average=micro:bins=4:labels=3");
  expect_told("log_loss", at::randn({4, 3}), at::full({4, 3}, 2.0), "labels of 0 and 1, found 2", "belong together");
  expect_told("perplexity", at::randn({4, 3}), at::full({4}, 7).to(at::kLong), "a label from 0 to 2 or -100",
              "ignore_index");
  expect_told("bits_per_byte", at::randn({4, 3}), at::ones({4}).to(at::kLong), "expected a label \"bytes\"",
              "bytes=NAME");
}

}  // namespace
}  // namespace troupe
