// Goal: paired intervals and the test of McNemar are those of numpy and scipy, and a metric of resampled samples is the
// metric of those samples. Method: recorded_comparison/paired_reference.json, which the script beside it made with both
// packages; metrics of whole micro-batches against their states of single samples.
#include <cmath>
#include <fstream>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "program/compare/paired.hpp"
#include "program/compare/sample_states.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using json = nlohmann::json;

json recorded() {
  std::ifstream file(source_dir() / "tests/program/recorded_comparison/paired_reference.json");
  return json::parse(file);
}

double mean_of(const std::vector<double>& values, std::span<const std::uint64_t> samples) {
  double sum = 0;
  for (const std::uint64_t sample : samples) sum += values[sample];
  return sum / static_cast<double>(samples.size());
}

bootstrap_interval interval(const json& one, const json& first, const json& other) {
  const auto a = first.get<std::vector<double>>();
  const auto b = other.get<std::vector<double>>();
  pair_resampler draw(one["seed"], a.size());
  std::vector<double> differences;
  for (int i = 0; i < one["resamples"]; ++i) {
    const auto samples = draw.next();
    differences.push_back(mean_of(b, samples) - mean_of(a, samples));
  }
  return interval_of(differences, 0.95);
}

void expect_near(const bootstrap_interval& found, const json& wanted, double bound) {
  EXPECT_NEAR(found.low, wanted["low"], bound);
  EXPECT_NEAR(found.high, wanted["high"], bound);
  EXPECT_NEAR(found.standard_error, wanted["standard_error"], bound);
}

TEST(paired, intervals_are_those_of_numpy) {
  const json all = recorded();
  for (const json& one : all["cases"]) {
    expect_near(interval(one, one["first"], one["other"]), one["right"], 1e-12);
    expect_near(interval(one, one["losses"][0], one["losses"][1]), one["loss"], 1e-12);
  }
}

TEST(paired, intervals_are_near_those_that_scipy_draws_itself) {
  const json all = recorded();
  for (const json& one : all["cases"]) {
    if (one["resamples"] < 400) continue;
    const double error = one["scipy_loss"]["standard_error"];
    expect_near(interval(one, one["losses"][0], one["losses"][1]), one["scipy_loss"], error / 3);
  }
}

TEST(paired, tests_of_mcnemar_are_those_of_scipy) {
  const json all = recorded();
  for (const json& one : all["mcnemar"]) {
    const double wanted = one[2];
    EXPECT_NEAR(mcnemar_p(one[0], one[1]), wanted, 1e-8 * wanted) << one;
    EXPECT_EQ(mcnemar_p(one[0], one[1]), mcnemar_p(one[1], one[0]));
  }
}

TEST(paired, interval_of_nan_is_nan) {
  EXPECT_TRUE(std::isnan(interval_of({1, NAN, 2}, 0.95).low));
  EXPECT_EQ(interval_of({1, INFINITY, INFINITY}, 0.5).high, INFINITY);
}

class states_of_samples : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr std::int64_t samples = 37;

  void SetUp() override {
    at::manual_seed(5);
    outputs_ = at::rand({samples, 4}).log_softmax(1);
    labels_ = at::randint(0, 4, {samples}, at::kLong);
    metric_ = make_metric(GetParam(), 4).value();
  }
  [[nodiscard]] double whole(const std::vector<std::int64_t>& of) const {
    const at::Tensor rows = at::tensor(of, at::kLong);
    const scored_part part(
        {{"other", at::zeros({static_cast<std::int64_t>(of.size())})}, {"logits", outputs_.index_select(0, rows)}},
        labels_.index_select(0, rows), {"logits", ""});
    std::vector<std::uint64_t> words(metric_->words(), 0);
    std::vector<std::byte> kept;
    EXPECT_TRUE(metric_->update_words(part, words, kept));
    return metric_->compute_total({words, kept}).value();
  }
  [[nodiscard]] std::vector<std::uint64_t> states() const {
    const auto each = make_sample_states(metric_);
    std::vector<std::byte> rows;
    for (std::int64_t begin = 0; begin < samples; begin += 10) {
      const std::int64_t size = std::min<std::int64_t>(10, samples - begin);
      const scored_part part({{"other", at::zeros({size})}, {"logits", outputs_.narrow(0, begin, size)}},
                             labels_.narrow(0, begin, size), {"logits", ""});
      EXPECT_TRUE(each->update_words(part, {}, rows));
    }
    EXPECT_EQ(rows.size(), each->row_bytes() * samples);
    return each->compute_total({{}, rows}).counts("words");
  }

  at::Tensor outputs_;
  at::Tensor labels_;
  metric_ptr metric_;
};

TEST_P(states_of_samples, give_the_metric_of_any_choice) {
  const auto words = states();
  const sample_states kept(metric_, words);
  ASSERT_EQ(kept.size(), static_cast<std::size_t>(samples));
  EXPECT_TRUE(kept.is_complete());
  pair_resampler draw(3, samples);
  for (int i = 0; i < 20; ++i) {
    const auto drawn = draw.next();
    EXPECT_NEAR(kept.value_of(drawn), whole({drawn.begin(), drawn.end()}), 1e-12);
  }
}

TEST_P(states_of_samples, of_a_liar_are_not_complete) {
  auto words = states();
  words[metric_->words()] = 7;
  EXPECT_FALSE(sample_states(metric_, words).is_complete());
}

INSTANTIATE_TEST_SUITE_P(all, states_of_samples, ::testing::Values("accuracy", "top2", "cross_entropy", "nll", "f1"));

}  // namespace
}  // namespace troupe::testing
