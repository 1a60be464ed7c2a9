// Goal: f1 is scikit-learn's f1_score, with zero_division = 0. Method: a case worked out by hand, and random outputs
// against plain loops over true and false positives and negatives; macro takes the classes that occur, as there.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "tests/runtime/metric/one_part.hpp"
#include <troupe/metric.hpp>

namespace troupe {
namespace {

metric_value f1_of(const at::Tensor& outputs, const at::Tensor& labels, std::uint32_t classes,
                   std::int64_t micro_batch = 1000) {
  const metric_ptr f1 = get(make_metric("f1", classes));
  std::vector<std::uint64_t> total(f1->words(), 0);
  for (std::int64_t begin = 0; begin < outputs.size(0); begin += micro_batch) {
    const std::int64_t size = std::min(micro_batch, outputs.size(0) - begin);
    std::vector<std::uint64_t> part(f1->words(), 0);
    get(update_words(*f1, outputs.narrow(0, begin, size), labels.narrow(0, begin, size), part));
    f1->merge_words(total, part);
  }
  return value_of(*f1, total);
}

at::Tensor outputs_for(const std::vector<std::int64_t>& predicted, std::int64_t classes) {
  at::Tensor outputs = at::zeros({static_cast<std::int64_t>(predicted.size()), classes});
  for (std::size_t i = 0; i < predicted.size(); ++i) outputs[static_cast<std::int64_t>(i)][predicted[i]] = 1;
  return outputs;
}

// The example of scikit-learn's page on f1_score: y_true = [0, 1, 2, 0, 1, 2], y_pred = [0, 2, 1, 0, 0, 1] gives
// macro 0.26..., micro 0.33..., per class [0.8, 0, 0].
TEST(f1, gives_the_numbers_of_scikit_learns_example) {
  const metric_value value = f1_of(outputs_for({0, 2, 1, 0, 0, 1}, 3), at::tensor({0, 1, 2, 0, 1, 2}).to(at::kLong), 3);
  EXPECT_EQ(value.column("per_class"), (std::vector<double>{0.8, 0, 0}));
  EXPECT_DOUBLE_EQ(value.value("macro"), 0.8 / 3);
  EXPECT_DOUBLE_EQ(value.value("micro"), 2.0 / 6);
  EXPECT_EQ(value.value(), value.value("macro"));
  EXPECT_EQ(value.counts("correct"), (std::vector<std::uint64_t>{2, 0, 0}));
  EXPECT_EQ(value.counts("predicted"), (std::vector<std::uint64_t>{3, 2, 1}));
  EXPECT_EQ(value.counts("total"), (std::vector<std::uint64_t>{2, 2, 2}));
}

// From the same page: y_true = [0, 0, 0, 0, 0, 0], y_pred = [0, 2, 1, 0, 0, 1] has F1 [0.66..., 0, 0].
TEST(f1, a_class_that_is_only_predicted_counts_as_zero) {
  const metric_value value = f1_of(outputs_for({0, 2, 1, 0, 0, 1}, 3), at::zeros({6}, at::kLong), 3);
  EXPECT_DOUBLE_EQ(value.column("per_class")[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(value.value("macro"), 2.0 / 9);
}

TEST(f1, a_class_that_does_not_occur_is_zero_and_not_part_of_macro) {
  const metric_value value = f1_of(outputs_for({0, 0, 1}, 4), at::tensor({0, 1, 1}).to(at::kLong), 4);
  EXPECT_EQ(value.column("per_class")[3], 0.0);
  EXPECT_DOUBLE_EQ(value.value("macro"), 2.0 / 3);  // class 0: P 1/2, R 1; class 1: P 1, R 1/2
  EXPECT_TRUE(std::isnan(f1_of(at::zeros({0, 4}), at::zeros({0}, at::kLong), 4).value()));
}

// scikit-learn: f1_score([0, 1, 1, 0, 0, 1, 0, 1], [0, 1, 2, 3, 0, 1, 4, 5], average="macro", zero_division=0) is
// 0.2222; the classes 2 to 5 are predicted, and no data has them.
TEST(f1, a_class_behind_those_of_the_data_counts_as_zero_too) {
  for (const std::int64_t micro_batch : {8, 3, 1}) {
    const metric_value value = f1_of(outputs_for({0, 1, 2, 3, 0, 1, 4, 5}, 6),
                                     at::tensor({0, 1, 1, 0, 0, 1, 0, 1}).to(at::kLong), 2, micro_batch);
    EXPECT_DOUBLE_EQ(value.value("macro"), 2.0 / 9);
    EXPECT_DOUBLE_EQ(value.value("micro"), 0.5);
    EXPECT_EQ(value.count("other"), 4U);
    EXPECT_EQ(value.count("other_classes"), 4U);
    EXPECT_EQ(value.column("per_class").size(), 2U);
  }
}

struct plain_f1 {
  double macro = 0;
  double micro = 0;
  std::vector<double> per_class;
};

/// One class after the other, by the definitions of precision and recall.
plain_f1 plain(const std::vector<std::int64_t>& predicted, const std::vector<std::int64_t>& labels,
               std::int64_t classes) {
  plain_f1 made;
  std::set<std::int64_t> present;
  double hits = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    double tp = 0;
    double fp = 0;
    double fn = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      tp += predicted[i] == c && labels[i] == c ? 1 : 0;
      fp += predicted[i] == c && labels[i] != c ? 1 : 0;
      fn += predicted[i] != c && labels[i] == c ? 1 : 0;
    }
    const double precision = tp + fp == 0 ? 0 : tp / (tp + fp);
    const double recall = tp + fn == 0 ? 0 : tp / (tp + fn);
    made.per_class.push_back(precision + recall == 0 ? 0 : 2 * precision * recall / (precision + recall));
    if (tp + fp + fn > 0) present.insert(c);
    hits += tp;
  }
  for (const std::int64_t c : present) made.macro += made.per_class[static_cast<std::size_t>(c)];
  made.macro /= static_cast<double>(present.size());
  made.micro = hits / static_cast<double>(labels.size());
  return made;
}

TEST(f1, equals_plain_loops_in_any_micro_batches) {
  at::manual_seed(11);
  for (const std::int64_t outputs_more : {0, 3}) {
    const at::Tensor outputs = at::randn({500, 12 + outputs_more});
    // Some classes never occur.
    const at::Tensor labels = at::randint(9, {500}, at::kLong);
    std::vector<std::int64_t> predicted;
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < 500; ++i) {
      predicted.push_back(outputs[i].argmax().item<std::int64_t>());
      wanted.push_back(labels[i].item<std::int64_t>());
    }
    const plain_f1 reference = plain(predicted, wanted, 12 + outputs_more);
    for (const std::int64_t size : {500, 64}) {
      const metric_value value = f1_of(outputs, labels, 12, size);
      EXPECT_NEAR(value.value("macro"), reference.macro, 1e-12);
      EXPECT_NEAR(value.value("micro"), reference.micro, 1e-12);
      const std::vector<double> per_class = value.column("per_class");
      ASSERT_EQ(per_class.size(), 12U);
      for (std::size_t c = 0; c < 12; ++c) EXPECT_NEAR(per_class[c], reference.per_class[c], 1e-12) << c;
    }
  }
}

}  // namespace
}  // namespace troupe
