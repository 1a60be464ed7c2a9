#include <cmath>

#include "messages/try.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/output_rows.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

namespace {

double absolute_error(double difference) noexcept {
  return std::abs(difference);
}

double squared_error(double difference) noexcept {
  return difference * difference;
}

/// It takes of a sample the sum of the errors of its elements, and their number.
class regression_metric : public sum_metric {
 public:
  regression_metric(const metric_request& asked, double (*error)(double))
      : sum_metric(asked.name, 1, 1), error_(error) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    return mean_value(name(), as_real(state[0]), state[1]);
  }

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    const at::Tensor& outputs = *TROUPE_TRY(part.output());
    const at::Tensor& labels = *TROUPE_TRY(part.label());
    TROUPE_TRY(check_numbers(name(), outputs, labels));
    // Strides are for the order of elements alone: most outputs are contiguous, and then nothing is copied.
    const at::Tensor found = outputs.contiguous();
    const at::Tensor wanted = labels.contiguous();
    const std::int64_t elements = found.numel() / found.size(0);
    with_elements_of(found, [&](const auto* output) {
      with_elements_of(wanted, [&](const auto* label) {
        for (std::int64_t i = 0; i < found.size(0); ++i) {
          double sum = 0;
          for (std::int64_t j = 0; j < elements; ++j, ++output, ++label) {
            sum += error_(static_cast<double>(*output) - static_cast<double>(*label));
          }
          numbers.push_back(sum);
          numbers.push_back(static_cast<double>(elements));
        }
      });
    });
    return {};
  }

  double (*const error_)(double);
};

class rmse_metric final : public regression_metric {
 public:
  explicit rmse_metric(const metric_request& asked) : regression_metric(asked, squared_error) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const double mean = as_real(state[0]) / static_cast<double>(state[1]);
    return {name(), {real_field("value", std::sqrt(mean)), real_field("mse", mean), count_field("count", state[1])}};
  }
};

}  // namespace

expected<metric_ptr> make_mae(const metric_request& asked) {
  return std::make_shared<const regression_metric>(asked, absolute_error);
}

expected<metric_ptr> make_mse(const metric_request& asked) {
  return std::make_shared<const regression_metric>(asked, squared_error);
}

expected<metric_ptr> make_rmse(const metric_request& asked) {
  return std::make_shared<const rmse_metric>(asked);
}

}  // namespace troupe
