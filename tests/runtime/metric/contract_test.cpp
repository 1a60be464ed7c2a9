// Goal: names, fields, merging and errors of every metric are those of docs/metrics.md. Method: small cases by hand.
#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "tests/runtime/metric/one_part.hpp"
#include <troupe/metric.hpp>

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using words = std::vector<std::uint64_t>;

const at::Tensor& outputs() {
  // Predictions 2, 0, 1, 1.
  static const at::Tensor t =
      at::tensor({0.0F, 1.0F, 2.0F, 3.0F, 1.0F, 2.0F, 0.0F, 5.0F, 5.0F, -1.0F, 0.0F, -2.0F}).view({4, 3});
  return t;
}
const at::Tensor& labels() {
  static const at::Tensor t = at::tensor({2, 2, 1, 1}).to(at::kLong);
  return t;
}

metric_value value_of(const std::string& name, std::uint32_t classes = 3) {
  const metric_ptr m = make_metric(name, classes).value();
  words state(m->words(), 0);
  EXPECT_TRUE(update_words(*m, outputs(), labels(), state).has_value());
  return value_of(*m, state);
}

const metric_value::field& field(const metric_value& value, const std::string& name) {
  for (const metric_value::field& f : value.fields) {
    if (f.name == name) return f;
  }
  throw std::runtime_error("no field " + name);
}

std::vector<std::string> field_names(const metric_value& value) {
  std::vector<std::string> names;
  for (const metric_value::field& f : value.fields) {
    names.push_back(f.name);
    EXPECT_EQ(f.is_count ? f.reals.size() : f.counts.size(), 0U);
    EXPECT_TRUE(f.is_list || f.reals.size() + f.counts.size() == 1U);
  }
  return names;
}

TEST(fields, accuracy_and_top_k) {
  const metric_value accuracy = value_of("accuracy");
  EXPECT_EQ(accuracy.name, "accuracy");
  EXPECT_THAT(field_names(accuracy), ElementsAre("value", "correct", "total"));
  EXPECT_THAT(field(accuracy, "value").reals, ElementsAre(0.75));
  EXPECT_THAT(field(accuracy, "correct").counts, ElementsAre(3));
  EXPECT_THAT(field(accuracy, "total").counts, ElementsAre(4));
  const metric_value top2 = value_of("top2");
  EXPECT_EQ(top2.name, "top2");
  EXPECT_THAT(field_names(top2), ElementsAre("value", "correct", "total"));
  EXPECT_THAT(field(top2, "correct").counts, ElementsAre(4));
}

TEST(fields, per_class_accuracy_has_nan_for_classes_without_samples) {
  const metric_value value = value_of("per_class_accuracy");
  EXPECT_THAT(field_names(value), ElementsAre("value", "correct", "total"));
  EXPECT_THAT(field(value, "correct").counts, ElementsAre(0, 2, 1));
  EXPECT_THAT(field(value, "total").counts, ElementsAre(0, 2, 2));
  const std::vector<double>& shares = field(value, "value").reals;
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_TRUE(std::isnan(shares[0]));
  EXPECT_DOUBLE_EQ(shares[1], 1.0);
  EXPECT_DOUBLE_EQ(shares[2], 0.5);
}

TEST(fields, confusion_matrix) {
  const metric_value value = value_of("confusion_matrix");
  EXPECT_THAT(field_names(value), ElementsAre("label_0", "label_1", "label_2", "other"));
  EXPECT_THAT(field(value, "label_0").counts, ElementsAre(0, 0, 0));
  EXPECT_THAT(field(value, "label_1").counts, ElementsAre(0, 2, 0));
  EXPECT_THAT(field(value, "label_2").counts, ElementsAre(1, 0, 1));
  EXPECT_THAT(field(value, "other").counts, ElementsAre(0, 0, 0));
}

TEST(fields, losses) {
  const metric_value nll = value_of("nll");
  EXPECT_THAT(field_names(nll), ElementsAre("mean", "sum", "count"));
  EXPECT_THAT(field(nll, "sum").reals, ElementsAre(-(2.0 + 2.0 + 5.0 + 0.0)));
  EXPECT_THAT(field(nll, "mean").reals, ElementsAre(-2.25));
  EXPECT_THAT(field(nll, "count").counts, ElementsAre(4));
  EXPECT_THAT(field_names(value_of("cross_entropy")), ElementsAre("mean", "sum", "count"));
}

TEST(form, is_what_the_table_says_of_a_metric) {
  for (const auto& [name, form] :
       std::vector<std::pair<std::string, metric_form>>{{"accuracy", metric_form::share},
                                                        {"top2", metric_form::share},
                                                        {"nll", metric_form::mean},
                                                        {"f1", metric_form::per_class},
                                                        {"per_class_accuracy", metric_form::per_class},
                                                        {"confusion_matrix", metric_form::matrix}}) {
    EXPECT_EQ(value_of(name).form, form) << name;
  }
}

TEST(merging, adds_counts_and_sums_from_zero) {
  for (const std::string name :
       {"accuracy", "top2", "per_class_accuracy", "confusion_matrix", "nll", "cross_entropy"}) {
    const metric_ptr m = make_metric(name, 3).value();
    words whole(m->words(), 0);
    words total(m->words(), 0);
    ASSERT_TRUE(update_words(*m, outputs(), labels(), whole).has_value());
    for (const std::int64_t begin : {0, 3}) {
      const std::int64_t rows = begin == 0 ? 3 : 1;
      words part(m->words(), 0);
      ASSERT_TRUE(
          update_words(*m, outputs().narrow(0, begin, rows), labels().narrow(0, begin, rows), part).has_value());
      m->merge_words(total, part);
    }
    if (name == "cross_entropy") {
      EXPECT_NEAR(std::bit_cast<double>(total[0]), std::bit_cast<double>(whole[0]), 1e-14);
    } else {
      EXPECT_EQ(total, whole) << name;
    }
  }
}

TEST(merging, nothing_gives_nan_shares_and_means) {
  for (const std::string name : {"accuracy", "top2", "nll", "cross_entropy"}) {
    const metric_ptr m = make_metric(name, 3).value();
    EXPECT_TRUE(std::isnan(value_of(*m, words(m->words(), 0)).fields[0].reals[0])) << name;
  }
}

void expect_refused(const std::string& name, const at::Tensor& o, const at::Tensor& l, const std::string& part) {
  const metric_ptr m = make_metric(name, 3).value();
  words state(m->words(), 0);
  const expected<void> done = update_words(*m, o, l, state);
  ASSERT_FALSE(done.has_value()) << name << ": " << part;
  EXPECT_EQ(done.error().code, error_code::metric_failed);
  EXPECT_THAT(to_string(done.error()), HasSubstr(part));
  EXPECT_THAT(done.error().where, HasSubstr(name));
  EXPECT_FALSE(done.error().fix.empty());
  EXPECT_EQ(state, words(m->words(), 0)) << "a refused micro-batch leaves no trace";
}

TEST(errors, whatever_does_not_fit_is_named) {
  for (const std::string name :
       {"accuracy", "top2", "per_class_accuracy", "confusion_matrix", "nll", "cross_entropy"}) {
    expect_refused(name, {}, labels(), "found nothing");
    expect_refused(name, outputs(), {}, "found nothing");
    expect_refused(name, outputs().view({2, 2, 3}), labels(), "Float [2, 2, 3]");
    expect_refused(name, outputs().view({12}), labels(), "Float [12]");
    expect_refused(name, outputs().to(at::kLong), labels(), "Long [4, 3]");
    expect_refused(name, outputs().to_sparse(), labels(), "found");
    expect_refused(name, outputs().narrow(0, 0, 0), labels().narrow(0, 0, 0), "[0, 3]");
    expect_refused(name, outputs(), labels().to(at::kInt), "Int [4]");
    expect_refused(name, outputs(), labels().view({2, 2}), "Long [2, 2]");
    expect_refused(name, outputs().narrow(0, 0, 3), labels(), "3 outputs for 4 labels");
    expect_refused(name, outputs(), at::tensor({0, 1, 3, 0}).to(at::kLong), "sample 2 of the micro-batch");
    expect_refused(name, outputs(), at::tensor({0, 1, 0, -1}).to(at::kLong), "found -1");
  }
  expect_refused("top4", outputs(), labels(), "at least 4 outputs");
  const at::Tensor wide = at::zeros({1, 9});
  expect_refused("per_class_accuracy", wide, at::tensor({3}).to(at::kLong), "the data has 3 classes");
  expect_refused("confusion_matrix", wide, at::tensor({3}).to(at::kLong), "the data has 3 classes");
}

TEST(names, all_make_a_metric_of_that_name) {
  for (const std::string& name : metric_names()) {
    const std::string concrete = name == "topK" ? "top3" : name;
    const expected<metric_ptr> m = make_metric(concrete, 10);
    ASSERT_TRUE(m.has_value()) << name;
    EXPECT_EQ((*m)->name(), concrete);
  }
}

TEST(names, unknown_ones_come_with_a_suggestion_and_the_list) {
  const error e = make_metric("acuracy", 10).error();
  EXPECT_EQ(e.code, error_code::unknown_name);
  EXPECT_THAT(
      e.cause,
      HasSubstr("accuracy, topK, per_class_accuracy, balanced_accuracy, confusion_matrix, precision, recall, f1"));
  EXPECT_THAT(e.fix, HasSubstr("write \"accuracy\""));
  for (const std::string name : {"", "top", "topK", "top-1", "top1.5", "Accuracy", "nll "}) {
    EXPECT_EQ(make_metric(name, 10).error().code, error_code::unknown_name) << name;
  }
  EXPECT_THAT(make_metric("topK", 10).error().fix, HasSubstr("top5"));
  for (const std::string name : {"top0", "top05", "top65537", "top99999999999999999999"}) {
    EXPECT_EQ(make_metric(name, 10).error().code, error_code::value_out_of_range) << name;
  }
}

TEST(names, per_class_metrics_need_classes_that_fit_a_score) {
  EXPECT_EQ(make_metric("per_class_accuracy", 0).error().code, error_code::value_out_of_range);
  EXPECT_EQ(make_metric("confusion_matrix", 0).error().code, error_code::value_out_of_range);
  EXPECT_TRUE(make_metric("per_class_accuracy", limits::metric_classes_max).has_value());
  EXPECT_EQ(make_metric("per_class_accuracy", limits::metric_classes_max + 1).error().code,
            error_code::value_out_of_range);
  EXPECT_TRUE(make_metric("confusion_matrix", 1023).has_value());
  EXPECT_EQ(make_metric("confusion_matrix", 1024).error().code, error_code::value_out_of_range);
  EXPECT_TRUE(make_metric("accuracy", 0).has_value());
}

TEST(names, too_many_classes_are_told_with_the_limit_and_metrics_that_take_them) {
  const error matrix = make_metric("confusion_matrix", 2000).error();
  EXPECT_EQ(matrix.cause, "the data have 2000 classes, and it counts up to 1023");
  EXPECT_EQ(matrix.fix, "choose f1, per_class_accuracy, accuracy or a topK");
  for (const char* other : {"f1", "per_class_accuracy", "accuracy", "top5"}) {
    for (const std::uint32_t classes : {2000U, 21841U, 65536U}) EXPECT_TRUE(make_metric(other, classes)) << other;
  }
  for (const char* name : {"confusion_matrix", "f1", "per_class_accuracy"}) {
    const error all = make_metric(name, 65537).error();
    EXPECT_THAT(all.cause, HasSubstr("the data have 65537 classes, and it counts up to ")) << name;
    EXPECT_EQ(all.fix, "choose accuracy or a topK") << name;
  }
  EXPECT_TRUE(make_metric("accuracy", 65537));
  EXPECT_TRUE(make_metric("top65536", 65537));
}

TEST(f1, takes_no_model_with_more_outputs_than_it_has_room_for) {
  const at::Tensor label = at::tensor({1}).to(at::kLong);
  const at::Tensor last = at::arange(65537).to(at::kFloat).unsqueeze(0);
  expect_refused("f1", last, label, "up to 65536 outputs per sample, found 65537");
  const metric_ptr f1 = get(make_metric("f1", 3));
  words state(f1->words(), 0);
  get(update_words(*f1, last.slice(1, 1), label, state));
  EXPECT_EQ(value_of(*f1, state).count("other_classes"), 1U);
}

}  // namespace
}  // namespace troupe
