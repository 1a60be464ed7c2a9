#include <algorithm>
#include <cmath>

#include "messages/try.hpp"
#include "runtime/metric/log_normalizer.hpp"
#include "runtime/metric/sample_metric.hpp"
#include "runtime/metric/scored_rows.hpp"

namespace troupe {

namespace {

/// A metric of probabilities, which are the outputs or follow from them.
template <class Base>
class probability_metric : public Base {
 public:
  [[nodiscard]] expected<void> judge(const scored_part& part) const final {
    return judge_source(this->name(), TROUPE_TRY(read_part(part)), source_);
  }

 protected:
  template <class... Arguments>
  explicit probability_metric(const metric_request& asked, score_rules rules, Arguments... arguments)
      : Base(asked.name, arguments...), rules_(rules), source_(score_source::of(asked.settings)) {}

  [[nodiscard]] expected<scored_rows> read_part(const scored_part& part) const {
    return scored_rows::open(this->name(), part, rules_);
  }
  [[nodiscard]] bool are_probabilities() const noexcept { return source_.are_probabilities; }

 private:
  const score_rules rules_;
  const score_source source_;
};

/// -log(1 / (1 + exp(-x))) without overflow.
double negative_log_sigmoid(double x) noexcept {
  return x >= 0 ? std::log1p(std::exp(-x)) : std::log1p(std::exp(x)) - x;
}

double log_of_logits(score_kind kind, const scored_sample& sample) noexcept {
  if (kind != score_kind::classes) {
    double sum = 0;
    for (std::size_t j = 0; j < sample.scores.size(); ++j) {
      sum += negative_log_sigmoid(sample.flags[j] != 0 ? sample.scores[j] : -sample.scores[j]);
    }
    return sum;
  }
  const auto classes = static_cast<std::int64_t>(sample.scores.size());
  const output_rows<double> row{sample.scores.data(), 1, classes, classes, 1};
  return log_sum_exp(row, 0).loss(sample.scores[sample.label]);
}

double log_of_probabilities(score_kind kind, const scored_sample& sample) noexcept {
  if (kind == score_kind::classes) return -std::log(sample.scores[sample.label]);
  double sum = 0;
  for (std::size_t j = 0; j < sample.scores.size(); ++j) {
    sum -= sample.flags[j] != 0 ? std::log(sample.scores[j]) : std::log1p(-sample.scores[j]);
  }
  return sum;
}

/// It takes of a sample a sum, and over how many it is: 1, or as many as it has labels.
class log_loss_metric final : public probability_metric<sum_metric> {
 public:
  explicit log_loss_metric(const metric_request& asked)
      : probability_metric(asked, {.known_classes = 0}, std::size_t{1}, std::size_t{1}) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    return mean_value(name(), as_real(state[0]), state[1]);
  }

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    scored_rows batch = TROUPE_TRY(read_part(part));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const scored_sample sample = batch.at(i);
      numbers.push_back(are_probabilities() ? log_of_probabilities(batch.kind(), sample)
                                            : log_of_logits(batch.kind(), sample));
      numbers.push_back(batch.kind() == score_kind::labels ? static_cast<double>(batch.columns()) : 1);
    }
    return {};
  }
};

/// It takes of a sample the squares of the differences of probabilities and labels. Of two classes they are equal, and
/// one of them counts.
class brier_metric final : public probability_metric<sum_metric> {
 public:
  explicit brier_metric(const metric_request& asked)
      : probability_metric(asked, {.takes_labels = false}, std::size_t{1}, std::size_t{1}) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    return mean_value(name(), as_real(state[0]), state[1]);
  }

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    scored_rows batch = TROUPE_TRY(read_part(part));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const scored_sample sample = batch.at(i);
      if (!are_probabilities()) make_probabilities(batch.kind(), sample.scores);
      double sum = 0;
      for (std::size_t j = 0; j < sample.scores.size(); ++j) {
        const double difference = sample.scores[j] - sample.flags[j];
        sum += difference * difference;
      }
      numbers.push_back(batch.columns() == 2 ? sum / 2 : sum);
      numbers.push_back(1);
    }
    return {};
  }
};

/// It takes of a sample its confidence, and 1 if it is right, else 0. Of binary scores the confidence is that of class
/// 1, and right is label 1. State: of each bin its samples, then of each bin its right ones, then its sum of
/// confidences; then samples whose confidence is none.
class calibration_metric final : public probability_metric<sample_metric> {
 public:
  explicit calibration_metric(const metric_request& asked)
      : probability_metric(asked, {.takes_labels = false}),
        bins_(static_cast<std::size_t>(asked.settings.whole("bins").value_or(bins_default))) {}

  [[nodiscard]] std::size_t words() const noexcept override { return 3 * bins_ + 1; }
  [[nodiscard]] std::size_t width() const noexcept override { return 2; }

  void count(const double* sample, std::uint64_t times, std::span<std::uint64_t> state) const override {
    if (!(sample[0] >= 0 && sample[0] <= 1)) {
      state.back() += times;
      return;
    }
    const auto bin = std::min(bins_ - 1, static_cast<std::size_t>(sample[0] * static_cast<double>(bins_)));
    state[bin] += times;
    if (sample[1] != 0) state[bins_ + bin] += times;
    add_real(state[2 * bins_ + bin], static_cast<double>(times) * sample[0]);
  }
  void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const override {
    for (std::size_t i = 0; i < words(); ++i) {
      if (i / bins_ == 2 && i + 1 < words()) {
        add_real(total[i], as_real(part[i]));
      } else {
        total[i] += part[i];
      }
    }
  }

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    std::vector<double> confidence;
    std::vector<double> accuracy;
    std::uint64_t samples = state.back();
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      samples += state[bin];
      accuracy.push_back(share(state[bins_ + bin], state[bin]));
      confidence.push_back(as_real(state[2 * bins_ + bin]) / static_cast<double>(state[bin]));
    }
    double mean = samples == 0 || state.back() > 0 ? share(0, 0) : 0;
    double greatest = mean;
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      if (state[bin] == 0) continue;
      const double gap = std::abs(accuracy[bin] - confidence[bin]);
      mean += gap * share(state[bin], samples);
      if (gap > greatest) greatest = gap;
    }
    return {name(),
            {real_field("ece", mean), real_field("mce", greatest), real_list("mean_confidence", std::move(confidence)),
             real_list("accuracy", std::move(accuracy)), count_list("samples", state.first(bins_)),
             count_field("count", samples)}};
  }

 private:
  static constexpr std::int64_t bins_default = 15;

  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    scored_rows batch = TROUPE_TRY(read_part(part));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const scored_sample sample = batch.at(i);
      if (!are_probabilities()) make_probabilities(batch.kind(), sample.scores);
      const auto best = std::max_element(sample.scores.begin(), sample.scores.end());
      const bool has_nan =
          std::any_of(sample.scores.begin(), sample.scores.end(), [](double x) { return std::isnan(x); });
      numbers.push_back(has_nan ? std::nan("") : *best);
      numbers.push_back(sample.flags[static_cast<std::size_t>(best - sample.scores.begin())]);
    }
    return {};
  }

  const std::size_t bins_;
};

}  // namespace

expected<metric_ptr> make_log_loss(const metric_request& asked) {
  return std::make_shared<const log_loss_metric>(asked);
}
expected<metric_ptr> make_brier(const metric_request& asked) {
  return std::make_shared<const brier_metric>(asked);
}
expected<metric_ptr> make_calibration_error(const metric_request& asked) {
  return std::make_shared<const calibration_metric>(asked);
}

}  // namespace troupe
