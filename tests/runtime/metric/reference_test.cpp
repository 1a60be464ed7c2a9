// Goal: every metric says what LibTorch's own operations say, NaN and infinity included. Method: random outputs, ties
// and special values in all four element types, against at::argmax, topk, cross_entropy_loss and nll_loss in double.
#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/runtime/metric/one_part.hpp"
#include <troupe/metric.hpp>

namespace troupe {
namespace {

using words = std::vector<std::uint64_t>;

metric_ptr made(const std::string& name, std::uint32_t classes = 10) {
  return make_metric(name, classes).value();
}

words state_of(const metric& m, const at::Tensor& outputs, const at::Tensor& labels) {
  words state(m.words(), 0);
  const expected<void> done = update_words(m, outputs, labels, state);
  if (!done) throw std::runtime_error(to_string(done.error()));
  return state;
}

at::Tensor random_labels(std::int64_t samples, std::int64_t classes = 10) {
  return at::randint(classes, {samples}, at::kLong);
}

std::uint64_t count(const at::Tensor& hits) {
  return static_cast<std::uint64_t>(hits.sum().item<std::int64_t>());
}

/// Outputs with many ties, and with NaN of several bit patterns and infinities strewn in.
at::Tensor with_special_values(std::int64_t samples, std::int64_t classes) {
  at::Tensor outputs = at::randint(-3, 4, {samples, classes}, at::kFloat);
  const std::vector<float> specials = {std::bit_cast<float>(0x7fc00000U),
                                       std::bit_cast<float>(0xffc12345U),
                                       std::bit_cast<float>(0x7f800001U),
                                       INFINITY,
                                       -INFINITY,
                                       -0.0F,
                                       0.0F,
                                       3.0F};
  auto* data = outputs.data_ptr<float>();
  const at::Tensor where = at::randint(outputs.numel(), {outputs.numel() / 3}, at::kLong);
  for (std::int64_t i = 0; i < where.numel(); ++i) {
    data[where[i].item<std::int64_t>()] = specials[static_cast<std::size_t>(i) % specials.size()];
  }
  return outputs;
}

TEST(accuracy, equals_argmax_with_ties_nan_and_infinities) {
  at::manual_seed(1);
  for (const std::int64_t classes : {1, 2, 3, 10, 33, 1000}) {
    const at::Tensor outputs = with_special_values(400, classes);
    const at::Tensor labels = random_labels(400, classes);
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
      const at::Tensor typed = outputs.to(type);
      const words state = state_of(*made("accuracy"), typed, labels);
      EXPECT_EQ(state, (words{count(typed.argmax(1) == labels), 400})) << classes << ' ' << type;
      EXPECT_EQ(state_of(*made("top1"), typed, labels), state);
    }
  }
}

TEST(top_k, equals_topk_where_that_is_defined) {
  at::manual_seed(2);
  // Distinct values, as topk leaves the order of equal ones open; one NaN in every other row, which it ranks first.
  at::Tensor outputs = at::rand({300, 12}).argsort(/*dim=*/1, /*descending=*/false).to(at::kFloat);
  for (std::int64_t i = 0; i < 300; i += 2) outputs[i][i % 12] = NAN;
  const at::Tensor labels = random_labels(300, 12);
  for (std::int64_t k = 1; k <= 12; ++k) {
    const at::Tensor best = std::get<1>(outputs.topk(k, 1));
    const at::Tensor hits = (best == labels.unsqueeze(1)).any(1);
    EXPECT_EQ(state_of(*made("top" + std::to_string(k)), outputs, labels), (words{count(hits), 300})) << k;
  }
}

TEST(top_k, ties_go_to_the_first_index_as_in_a_stable_sort) {
  at::manual_seed(3);
  const at::Tensor outputs = with_special_values(300, 8);
  const at::Tensor labels = random_labels(300, 8);
  const at::Tensor order = std::get<1>(outputs.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true));
  for (std::int64_t k = 1; k <= 8; ++k) {
    const at::Tensor hits = (order.narrow(1, 0, k) == labels.unsqueeze(1)).any(1);
    EXPECT_EQ(state_of(*made("top" + std::to_string(k)), outputs, labels)[0], count(hits)) << k;
  }
}

TEST(per_class_accuracy, equals_counting_with_bincount) {
  at::manual_seed(4);
  const at::Tensor outputs = with_special_values(500, 10);
  const at::Tensor labels = random_labels(500);
  const at::Tensor correct = at::bincount(labels.index({outputs.argmax(1) == labels}), {}, 10);
  const at::Tensor total = at::bincount(labels, {}, 10);
  const words state = state_of(*made("per_class_accuracy"), outputs, labels);
  ASSERT_EQ(state.size(), 20U);
  for (std::int64_t c = 0; c < 10; ++c) {
    EXPECT_EQ(state[static_cast<std::size_t>(c)], static_cast<std::uint64_t>(correct[c].item<std::int64_t>()));
    EXPECT_EQ(state[static_cast<std::size_t>(c) + 10], static_cast<std::uint64_t>(total[c].item<std::int64_t>()));
  }
}

TEST(confusion_matrix, equals_a_bincount_over_pairs) {
  at::manual_seed(5);
  const at::Tensor outputs = with_special_values(500, 12);
  const at::Tensor labels = random_labels(500);
  // Two outputs more than classes: both fall into the last column.
  const at::Tensor predicted = outputs.argmax(1).clamp_max(10);
  const at::Tensor cells = at::bincount(labels * 11 + predicted, {}, 110);
  const words state = state_of(*made("confusion_matrix"), outputs, labels);
  ASSERT_EQ(state.size(), 110U);
  for (std::int64_t i = 0; i < 110; ++i) {
    EXPECT_EQ(state[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(cells[i].item<std::int64_t>())) << i;
  }
}

double sum_of(const words& state) {
  return std::bit_cast<double>(state[0]);
}

void expect_close(double found, double reference, const std::string& what) {
  if (std::isnan(reference) || std::isinf(reference)) {
    EXPECT_EQ(std::isnan(found), std::isnan(reference)) << what;
    EXPECT_TRUE(std::isnan(reference) || found == reference) << what;
  } else {
    EXPECT_NEAR(found, reference, 1e-12 * std::max(1.0, std::abs(reference))) << what;
  }
}

TEST(losses, equal_torch_in_double) {
  at::manual_seed(6);
  for (const double scale : {1e-3, 1.0, 30.0, 1e4, 1e30}) {
    for (const std::int64_t classes : {1, 2, 10, 257}) {
      const at::Tensor labels = random_labels(100, classes);
      for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
        if (type == at::kHalf && scale > 1e4) continue;
        const at::Tensor outputs = (at::randn({100, classes}) * scale).to(type);
        const std::string what = std::to_string(scale) + " x " + std::to_string(classes) + " " + c10::toString(type);
        const double ce =
            at::cross_entropy_loss(outputs.to(at::kDouble), labels, {}, at::Reduction::Sum).item<double>();
        expect_close(sum_of(state_of(*made("cross_entropy"), outputs, labels)), ce, what);
        const double nll = at::nll_loss(outputs.to(at::kDouble), labels, {}, at::Reduction::Sum).item<double>();
        expect_close(sum_of(state_of(*made("nll"), outputs, labels)), nll, what);
      }
    }
  }
}

TEST(losses, nan_and_infinity_are_torchs_and_never_hidden) {
  at::manual_seed(7);
  const at::Tensor outputs = with_special_values(400, 4);
  const at::Tensor labels = random_labels(400, 4);
  int not_finite = 0;
  for (std::int64_t i = 0; i < 400; ++i) {
    const at::Tensor row = outputs.narrow(0, i, 1);
    const at::Tensor label = labels.narrow(0, i, 1);
    const double ce = at::cross_entropy_loss(row.to(at::kDouble), label, {}, at::Reduction::Sum).item<double>();
    expect_close(sum_of(state_of(*made("cross_entropy"), row, label)), ce, "row " + std::to_string(i));
    const double nll = at::nll_loss(row.to(at::kDouble), label, {}, at::Reduction::Sum).item<double>();
    expect_close(sum_of(state_of(*made("nll"), row, label)), nll, "row " + std::to_string(i));
    not_finite += !std::isfinite(ce);
  }
  EXPECT_GT(not_finite, 100);
  const metric_ptr loss = made("cross_entropy");
  EXPECT_TRUE(std::isnan(value_of(*loss, state_of(*loss, outputs, labels)).fields[0].reals[0]));
}

TEST(losses, add_samples_in_order_and_micro_batches_in_order) {
  at::manual_seed(8);
  const at::Tensor outputs = at::randn({64, 10}) * 5;
  const at::Tensor labels = random_labels(64);
  const metric_ptr loss = made("cross_entropy");
  double by_sample = 0;
  words merged(2, 0);
  for (std::int64_t i = 0; i < 64; ++i) {
    const words one = state_of(*loss, outputs.narrow(0, i, 1), labels.narrow(0, i, 1));
    by_sample += sum_of(one);
    loss->merge_words(merged, one);
  }
  EXPECT_EQ(std::bit_cast<std::uint64_t>(by_sample), state_of(*loss, outputs, labels)[0]);
  EXPECT_EQ(merged, state_of(*loss, outputs, labels));
}

TEST(layouts, strides_and_offsets_do_not_matter) {
  at::manual_seed(9);
  const at::Tensor base = at::randn({10, 40});
  const at::Tensor labels = random_labels(80).as_strided({40}, {2}, 0);
  for (const std::string name :
       {"accuracy", "top3", "per_class_accuracy", "confusion_matrix", "cross_entropy", "nll"}) {
    const metric_ptr m = made(name);
    EXPECT_EQ(state_of(*m, base.t(), labels), state_of(*m, base.t().contiguous(), labels.contiguous())) << name;
    const at::Tensor part = at::randn({50, 30}).narrow(0, 3, 40).narrow(1, 7, 10);
    EXPECT_EQ(state_of(*m, part, labels), state_of(*m, part.contiguous(), labels)) << name;
  }
}

}  // namespace
}  // namespace troupe
