// Goal: a metric with a plain struct as its state starts from State{}, and its words travel as those of any metric.
// Method: metrics whose states have doubles, counts, arrays and first values that are not zero, through a scorer and a
// fold, against plain loops; structs that cannot be states are refused by the concept.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "tests/runtime/metric/one_part.hpp"
#include <troupe/metric_of.hpp>

namespace troupe {
namespace {

struct extremes {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
  std::array<std::uint64_t, 2> signs = {};
  std::int64_t balance = 0;
};

class extremes_metric final : public metric_of<extremes> {
 public:
  extremes_metric() : metric_of("extremes") {}

 private:
  [[nodiscard]] expected<void> update(const at::Tensor& outputs, const at::Tensor&, extremes& state) const override {
    for (std::int64_t i = 0; i < outputs.size(0); ++i) {
      const double value = outputs[i].item<double>();
      if (std::isnan(value)) {
        state.least = 0;  // must not be kept
        return fail(error_code::metric_failed, name(), "NaN");
      }
      state.least = std::min(state.least, value);
      state.greatest = std::max(state.greatest, value);
      state.signs[value < 0 ? 0 : 1] += 1;
      state.balance += value < 0 ? -1 : 1;
    }
    return {};
  }
  void merge(extremes& total, const extremes& part) const override {
    total.least = std::min(total.least, part.least);
    total.greatest = std::max(total.greatest, part.greatest);
    for (std::size_t i = 0; i < 2; ++i) total.signs[i] += part.signs[i];
    total.balance += part.balance;
  }
  [[nodiscard]] metric_value compute(const extremes& total) const override {
    return {name(),
            {real_field("least", total.least), real_field("greatest", total.greatest), count_list("signs", total.signs),
             real_field("balance", static_cast<double>(total.balance))}};
  }
};

class mean_output final : public mean_metric {
 public:
  mean_output() : mean_metric("mean_output") {}

 private:
  [[nodiscard]] expected<void> update(const at::Tensor& outputs, const at::Tensor&, mean_state& state) const override {
    for (std::int64_t i = 0; i < outputs.size(0); ++i) state.sum += outputs[i].item<double>();
    state.count += static_cast<std::uint64_t>(outputs.size(0));
    return {};
  }
};

std::vector<metric_value> folded(const std::vector<metric_ptr>& metrics, const at::Tensor& outputs, std::int64_t size) {
  metric_scorer scorer(metrics);
  metric_fold fold(metrics);
  std::uint64_t index = 0;
  for (std::int64_t begin = 0; begin < outputs.size(0); begin += size, ++index) {
    activation input;
    input.samples = {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(begin + size)};
    input.labels = make_tensors(at::zeros({size}, at::kLong));
    score part;
    part.id = {0, index};
    get(scorer.evaluate(make_tensors(outputs.narrow(0, begin, size)), input, part));
    get(fold.fold(part));
  }
  return get(fold.compute());
}

TEST(metric_of, states_begin_as_written_and_merge_in_order) {
  at::manual_seed(1);
  const at::Tensor outputs = at::randn({60});
  double least = 1e9;
  double greatest = -1e9;
  double sum = 0;
  std::uint64_t negative = 0;
  for (std::int64_t m = 0; m < 60; m += 6) {
    double part = 0;
    for (std::int64_t i = m; i < m + 6; ++i) {
      const double value = outputs[i].item<double>();
      least = std::min(least, value);
      greatest = std::max(greatest, value);
      negative += value < 0 ? 1U : 0U;
      part += value;
    }
    sum += part;
  }
  const auto values = folded({std::make_shared<extremes_metric>(), std::make_shared<mean_output>()}, outputs, 6);
  EXPECT_EQ(values[0].value("least"), least);
  EXPECT_EQ(values[0].value("greatest"), greatest);
  EXPECT_EQ(values[0].counts("signs"), (std::vector<std::uint64_t>{negative, 60 - negative}));
  EXPECT_EQ(values[0].value("balance"), 60.0 - 2.0 * static_cast<double>(negative));
  EXPECT_EQ(values[1].value("sum"), sum);
  EXPECT_EQ(values[1].value(), sum / 60.0);
  EXPECT_EQ(values[1].count("count"), 60U);
}

TEST(metric_of, a_new_state_is_zero_words_and_a_refused_one_stays) {
  const extremes_metric metric;
  std::vector<std::uint64_t> state(metric.words(), 0);
  ASSERT_EQ(state.size(), 5U);
  EXPECT_EQ(value_of(metric, state).value("least"), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(update_words(metric, at::full({2}, NAN), at::zeros({2}), state).has_value());
  EXPECT_EQ(state, std::vector<std::uint64_t>(5, 0));
  EXPECT_TRUE(std::isnan(value_of(mean_output(), std::vector<std::uint64_t>(2, 0)).value()));
}

struct with_padding {
  double sum = 0;
  int count = 0;
};
struct with_floats {
  float a = 0;
  float b = 0;
};
struct with_pointer {
  double* where = nullptr;
};
struct with_list {
  std::vector<double> all;
};
struct nested {
  extremes inner;
  double more[3] = {};
};
static_assert(metric_state<extremes> && metric_state<mean_state> && metric_state<nested>);
static_assert(!metric_state<with_padding> && !metric_state<with_floats> && !metric_state<with_pointer> &&
              !metric_state<with_list>);

}  // namespace
}  // namespace troupe
