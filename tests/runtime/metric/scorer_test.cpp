// Goal: a scorer turns outputs into the states of its metrics and a fold turns these into values. Method: against the
// metrics called directly, and one case for everything that can be wrong.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "tests/runtime/metric/one_part.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using words = std::vector<std::uint64_t>;

class other_payload final : public payload {};

std::vector<metric_ptr> some_metrics() {
  std::vector<metric_ptr> metrics;
  for (const char* name : {"accuracy", "cross_entropy", "per_class_accuracy", "nll"}) {
    metrics.push_back(make_metric(name, 5).value());
  }
  return metrics;
}

activation micro_batch(std::uint64_t index, std::int64_t size, const payload_ptr& labels) {
  activation input;
  input.id = {2, index};
  input.samples = {index * 8, index * 8 + static_cast<std::uint64_t>(size)};
  input.labels = labels;
  return input;
}

TEST(metric_scorer, words_are_the_states_one_after_another) {
  at::manual_seed(1);
  const at::Tensor outputs = at::log_softmax(at::randn({8, 5}), 1);
  const at::Tensor labels = at::randint(5, {8}, at::kLong);
  words wanted;
  for (const metric_ptr& m : some_metrics()) {
    words state(m->words(), 0);
    ASSERT_TRUE(update_words(*m, outputs, labels, state).has_value());
    wanted.insert(wanted.end(), state.begin(), state.end());
  }
  wanted.insert(wanted.end(), {0, 0});  // samples with NaN, with an infinity
  metric_scorer scorer(some_metrics());
  score result;
  result.words = {99, 99};
  ASSERT_TRUE(scorer.evaluate(make_tensors(outputs), micro_batch(0, 8, make_tensors(labels)), result).has_value());
  EXPECT_EQ(result.words, wanted);
  EXPECT_EQ(result.samples, 8U);
  EXPECT_EQ(result.outputs, nullptr);
}

TEST(metric_scorer, judges_the_first_micro_batch_of_a_call) {
  const payload_ptr logits = make_tensors(at::zeros({8, 5}));
  const payload_ptr labels = make_tensors(at::zeros({8}, at::kLong));
  metric_scorer scorer({get(make_metric("nll", 5))});
  score result;
  const expected<void> first = scorer.evaluate(logits, micro_batch(0, 8, labels), result);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, error_code::metric_does_not_fit);
  EXPECT_TRUE(scorer.evaluate(logits, micro_batch(1, 8, labels), result));
}

TEST(metric_scorer, without_metrics_needs_no_labels) {
  metric_scorer scorer({});
  score result;
  ASSERT_TRUE(scorer.evaluate(make_tensors(at::ones({8, 2, 3})), micro_batch(0, 8, nullptr), result).has_value());
  EXPECT_EQ(result.words, words({0, 0}));
}

void expect_refused(const payload_ptr& outputs, const payload_ptr& labels, const std::string& part) {
  metric_scorer scorer(some_metrics());
  score result;
  const expected<void> done = scorer.evaluate(outputs, micro_batch(3, 8, labels), result);
  ASSERT_FALSE(done.has_value()) << part;
  EXPECT_EQ(done.error().code, error_code::metric_failed);
  EXPECT_THAT(to_string(done.error()), HasSubstr(part));
  EXPECT_THAT(done.error().where, HasSubstr("call 2, micro-batch 3 (samples 24 to 31)"));
}

TEST(metric_scorer, whatever_does_not_fit_is_named_with_micro_batch_and_samples) {
  const payload_ptr outputs = make_tensors(at::ones({8, 5}));
  const payload_ptr labels = make_tensors(at::zeros({8}, at::kLong));
  const payload_ptr two =
      std::make_shared<const tensor_set>(std::vector<at::Tensor>{at::ones({8, 5}), at::ones({8, 5})});
  expect_refused(nullptr, labels, "no outputs");
  expect_refused(std::make_shared<const other_payload>(), labels, "no outputs");
  expect_refused(two, labels, "one tensor of outputs, found 2");
  expect_refused(outputs, nullptr, "no labels");
  expect_refused(outputs, std::make_shared<const other_payload>(), "no labels");
  expect_refused(outputs, two, "one tensor of labels, found 2");
  expect_refused(make_tensors(at::ones({7, 5})), labels, "expected 8 rows of outputs, one per sample, found 7");
  expect_refused(make_tensors(at::ones({})), labels, "found none");
  expect_refused(make_tensors(at::Tensor()), labels, "found none");
  expect_refused(outputs, make_tensors(at::full({8}, 5, at::kLong)), "accuracy, sample 0 of the micro-batch");
}

TEST(metric_fold, values_equal_those_of_all_samples_at_once) {
  at::manual_seed(2);
  const at::Tensor outputs = at::log_softmax(at::randn({40, 5}), 1);
  const at::Tensor labels = at::randint(5, {40}, at::kLong);
  metric_scorer scorer(some_metrics());
  metric_fold fold(some_metrics());
  for (std::uint64_t m = 0; m < 5; ++m) {
    const auto begin = static_cast<std::int64_t>(8 * m);
    score part;
    part.id = {2, m};
    const activation input = micro_batch(m, 8, make_tensors(labels.narrow(0, begin, 8)));
    ASSERT_TRUE(scorer.evaluate(make_tensors(outputs.narrow(0, begin, 8)), input, part).has_value());
    ASSERT_TRUE(fold.fold(part).has_value());
  }
  EXPECT_EQ(fold.samples(), 40U);
  EXPECT_EQ(fold.micro_batches(), 5U);
  const std::vector<metric_value> values = get(fold.compute());
  ASSERT_EQ(values.size(), 4U);
  EXPECT_EQ(values[0].fields[1].counts[0],
            static_cast<std::uint64_t>((outputs.argmax(1) == labels).sum().item<std::int64_t>()));
  const at::Tensor reference = at::cross_entropy_loss(outputs.to(at::kDouble), labels);
  EXPECT_NEAR(values[1].fields[0].reals[0], reference.item<double>(), 1e-14);
  EXPECT_EQ(values[1].fields[2].counts[0], 40U);
  EXPECT_EQ(values[2].name, "per_class_accuracy");
  EXPECT_EQ(values[3].name, "nll");
}

TEST(metric_fold, counts_the_samples_with_odd_outputs) {
  for (const std::vector<metric_ptr>& metrics : {some_metrics(), std::vector<metric_ptr>()}) {
    metric_scorer scorer(metrics);
    metric_fold fold(metrics);
    for (std::uint64_t m = 1; m < 4; ++m) {
      at::Tensor outputs = at::zeros({8, 5});
      outputs.slice(0, 0, static_cast<std::int64_t>(m)).fill_(NAN);
      if (m == 3) outputs[7][2] = INFINITY;
      score part;
      part.id = {2, m};
      get(scorer.evaluate(make_tensors(outputs), micro_batch(m, 8, make_tensors(at::zeros({8}, at::kLong))), part));
      get(fold.fold(part));
    }
    EXPECT_EQ(fold.odd().with_nan, 6U);
    EXPECT_EQ(fold.odd().with_infinity, 1U);
  }
}

TEST(metric_fold, a_score_of_another_size_changes_nothing) {
  metric_fold fold(some_metrics());
  score part;
  part.samples = 8;
  part.words.assign(fold.words().size() + 1, 1);
  const expected<void> done = fold.fold(part);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, error_code::wire_malformed);
  EXPECT_EQ(fold.samples(), 0U);
  EXPECT_EQ(fold.words(), words(fold.words().size(), 0));
}

TEST(metric_fold_death, ids_ascend) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // LibTorch has started threads
  metric_fold fold(some_metrics());
  score part;
  part.words.assign(fold.words().size(), 0);
  part.id = {0, 4};
  ASSERT_TRUE(fold.fold(part).has_value());
  EXPECT_DEATH(static_cast<void>(fold.fold(part)), "in the order of their ids");
  part.id = {0, 3};
  EXPECT_DEATH(static_cast<void>(fold.fold(part)), "in the order of their ids");
}

}  // namespace
}  // namespace troupe
