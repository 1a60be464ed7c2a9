#include <cmath>
#include <sstream>

#include "messages/try.hpp"
#include "runtime/metric/class_batch.hpp"
#include "runtime/metric/log_normalizer.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

namespace {

/// It takes of a sample its loss, whether it counts, and where classes have weights the weight of its label. The mean
/// is the sum over the weights (torch.nn.functional.cross_entropy, nll_loss).
template <bool is_log_probability>
class loss_metric : public sum_metric {
 public:
  explicit loss_metric(const metric_request& asked)
      : sum_metric(asked.name, asked.settings.has("weight") ? 2 : 1, 1),
        weights_(asked.settings.numbers("weight")),
        smoothing_(asked.settings.real("label_smoothing", 0)) {
    rules_.ignored = asked.settings.whole("ignore_index");
  }

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    metric_value made = mean_value(name(), as_real(state[0]), state.back());
    if (weights_.empty()) return made;
    const double weight = as_real(state[1]);
    made.fields.front() = real_field("mean", as_real(state[0]) / weight);
    made.fields.push_back(real_field("weight", weight));
    return made;
  }

 protected:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    const class_batch batch = TROUPE_TRY(class_batch::open(name(), part, rules_));
    if (!weights_.empty() && weights_.size() != static_cast<std::size_t>(batch.outputs.size(1))) {
      return fail(error_code::metric_failed, name(),
                  "it has " + std::to_string(weights_.size()) + " weights, and the model " +
                      std::to_string(batch.outputs.size(1)) + " classes",
                  "give a weight for each class of the model");
    }
    numbers.assign(static_cast<std::size_t>(batch.size()) * width(), 0);
    batch.for_each([&](const auto& rows, std::int64_t i, std::int64_t label) {
      double* const sample = numbers.data() + static_cast<std::size_t>(i) * width();
      sample[0] = loss(rows, i, label);
      if (!weights_.empty()) sample[1] = weight(label);
      sample[width() - 1] = 1;
    });
    return {};
  }

 private:
  [[nodiscard]] double weight(std::int64_t label) const noexcept {
    return weights_.empty() ? 1 : weights_[static_cast<std::size_t>(label)];
  }

  template <class T>
  [[nodiscard]] double loss(const output_rows<T>& rows, std::int64_t i, std::int64_t label) const noexcept {
    const log_normalizer normalizer = is_log_probability ? log_normalizer{} : log_sum_exp(rows, i);
    const double own = weight(label) * normalizer.loss(static_cast<double>(rows.at(i, label)));
    if (smoothing_ == 0) return own;
    double all = 0;
    for (std::int64_t j = 0; j < rows.classes; ++j) {
      all += weight(j) * normalizer.loss(static_cast<double>(rows.at(i, j)));
    }
    return (1 - smoothing_) * own + smoothing_ / static_cast<double>(rows.classes) * all;
  }

  class_rules rules_;
  const std::vector<double> weights_;
  const double smoothing_;
};

/// Wide enough for log-probabilities in bfloat16; logits are nowhere near.
constexpr double probability_tolerance = 0.05;

template <class T>
double probability_sum(const output_rows<T>& rows, std::int64_t sample) noexcept {
  double sum = 0;
  for (std::int64_t j = 0; j < rows.classes; ++j) sum += std::exp(static_cast<double>(rows.at(sample, j)));
  return sum;
}

class nll_metric final : public loss_metric<true> {
 public:
  using loss_metric::loss_metric;

  /// A row with NaN is the model's business and says nothing about what the outputs mean.
  [[nodiscard]] expected<void> judge(const scored_part& part) const override {
    const at::Tensor& outputs = *TROUPE_TRY(part.output());
    expected<void> verdict;
    with_rows_of(outputs, [&](const auto& rows) {
      for (std::int64_t i = 0; i < rows.samples && verdict; ++i) {
        const double sum = probability_sum(rows, i);
        if (std::abs(sum - 1) > probability_tolerance) verdict = no_probabilities(outputs, i, sum);
      }
    });
    return verdict;
  }

 private:
  [[nodiscard]] expected<void> no_probabilities(const at::Tensor& outputs, std::int64_t sample, double sum) const {
    std::ostringstream cause;
    cause << "expected log-probabilities, found outputs " << c10::toString(outputs.scalar_type()) << ' '
          << outputs.sizes() << " whose exponentials add up to " << sum << " and not to 1 in sample " << sample;
    return fail(error_code::metric_does_not_fit, name(), cause.str(),
                "use cross_entropy, which takes logits, or end the model with log_softmax");
  }
};

}  // namespace

expected<metric_ptr> make_cross_entropy(const metric_request& asked) {
  return std::make_shared<const loss_metric<false>>(asked);
}

expected<metric_ptr> make_nll(const metric_request& asked) {
  return std::make_shared<const nll_metric>(asked);
}

}  // namespace troupe
