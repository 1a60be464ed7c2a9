#include <cmath>
#include <limits>

#include "messages/try.hpp"
#include "runtime/metric/class_tally.hpp"

namespace troupe {

namespace {

using real = long double;  // counts of up to 2^63 and their products

class balanced_accuracy_metric final : public tally_metric {
 public:
  explicit balanced_accuracy_metric(const metric_request& asked) : tally_metric(asked) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const class_tally all = tally(state);
    double sum = 0;
    std::uint64_t seen = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      if (all.total[c] == 0) continue;
      sum += share(all.correct[c], all.total[c]);
      ++seen;
    }
    return {name(),
            {real_field("value", seen == 0 ? share(0, 0) : sum / static_cast<double>(seen)),
             count_field("classes", seen), count_field("count", all.samples)}};
  }
};

/// The numerators and denominators are sums over classes, of which the last is "no class of the data".
class matthews_metric final : public tally_metric {
 public:
  explicit matthews_metric(const metric_request& asked) : tally_metric(asked) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const class_tally all = tally(state);
    const auto samples = static_cast<real>(all.samples);
    real agreement = samples * static_cast<real>(class_tally::sum(all.correct));
    const auto other = static_cast<real>(all.other());
    real predicted = samples * samples - other * other;
    real total = samples * samples;
    for (std::size_t c = 0; c < classes_; ++c) {
      const auto p = static_cast<real>(all.predicted[c]);
      const auto t = static_cast<real>(all.total[c]);
      agreement -= p * t;
      predicted -= p * p;
      total -= t * t;
    }
    const real scale = std::sqrt(predicted) * std::sqrt(total);
    const real value = scale > 0 ? agreement / scale : 0;
    return {name(),
            {real_field("value", samples > 0 ? static_cast<double>(value) : share(0, 0)),
             count_field("count", all.samples)}};
  }
};

/// 1 less the disagreement over the disagreement of independent labels and predictions. A disagreement is 1, or the
/// distance of the classes, or its square; predictions that are no class of the data are one class behind the last.
/// State: a tally, and the sum of all disagreements.
class cohen_kappa_metric final : public tally_metric {
 public:
  explicit cohen_kappa_metric(const metric_request& asked)
      : tally_metric(asked, 1), weights_(asked.settings.word("weights", "none")) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const class_tally all = tally(state);
    const auto samples = static_cast<real>(all.samples);
    const real found = static_cast<real>(state.back());
    const real by_chance = weights_ == "none" ? unequal(all) : weights_ == "linear" ? linear(all) : quadratic(all);
    const double value =
        by_chance > 0 ? static_cast<double>(1 - found * samples / by_chance) : std::numeric_limits<double>::quiet_NaN();
    return {name(), {real_field("value", value), count_field("count", all.samples)}};
  }

 private:
  void count_pair(std::size_t label, std::size_t predicted, std::uint64_t times,
                  std::span<std::uint64_t> state) const override {
    tally_metric::count_pair(label, predicted, times, state);
    const std::size_t column = std::min(predicted, classes_);
    const std::uint64_t distance = column > label ? column - label : label - column;
    state.back() += times * (weights_ == "none"     ? std::uint64_t{distance > 0}
                             : weights_ == "linear" ? distance
                                                    : distance * distance);
  }

  // Sums over all pairs of a label and a prediction of their disagreement, times samples, times predictions.
  static real unequal(const class_tally& all) {
    const auto samples = static_cast<real>(all.samples);
    real sum = samples * samples;
    for (std::size_t c = 0; c < all.total.size(); ++c) {
      sum -= static_cast<real>(all.total[c]) * static_cast<real>(all.predicted[c]);
    }
    return sum;
  }
  /// A distance is the number of borders between two classes: a border is crossed by each pair on its two sides.
  static real linear(const class_tally& all) {
    const auto samples = static_cast<real>(all.samples);
    real sum = 0;
    real labels_below = 0;
    real predictions_below = 0;
    for (std::size_t c = 0; c < all.total.size(); ++c) {
      labels_below += static_cast<real>(all.total[c]);
      predictions_below += static_cast<real>(all.predicted[c]);
      sum += labels_below * (samples - predictions_below) + predictions_below * (samples - labels_below);
    }
    return sum;
  }
  static real quadratic(const class_tally& all) {
    real label = 0;
    real label_squared = 0;
    real prediction = 0;
    real prediction_squared = 0;
    const auto add = [](std::size_t c, std::uint64_t count, real& first, real& second) {
      first += static_cast<real>(c) * static_cast<real>(count);
      second += static_cast<real>(c) * static_cast<real>(c) * static_cast<real>(count);
    };
    for (std::size_t c = 0; c < all.total.size(); ++c) {
      add(c, all.total[c], label, label_squared);
      add(c, all.predicted[c], prediction, prediction_squared);
    }
    add(all.total.size(), all.other(), prediction, prediction_squared);
    const auto samples = static_cast<real>(all.samples);
    return samples * label_squared + samples * prediction_squared - 2 * label * prediction;
  }

  const std::string weights_;
};

template <class Metric>
expected<metric_ptr> make_tally(const metric_request& asked) {
  TROUPE_TRY(check_class_state(asked));
  return std::make_shared<const Metric>(asked);
}

}  // namespace

expected<metric_ptr> make_balanced_accuracy(const metric_request& asked) {
  return make_tally<balanced_accuracy_metric>(asked);
}
expected<metric_ptr> make_matthews(const metric_request& asked) {
  return make_tally<matthews_metric>(asked);
}
expected<metric_ptr> make_cohen_kappa(const metric_request& asked) {
  return make_tally<cohen_kappa_metric>(asked);
}

}  // namespace troupe
