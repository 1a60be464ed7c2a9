#include "runtime/metric/paired_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "messages/try.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

expected<void> append_pairs(const std::string& metric, const scored_part& part, std::vector<double>& numbers) {
  const at::Tensor& outputs = *TROUPE_TRY(part.output());
  const at::Tensor& labels = *TROUPE_TRY(part.label());
  TROUPE_TRY(check_numbers(metric, outputs, labels));
  if (!is_column(outputs)) {
    return fail(error_code::metric_failed, metric, "expected one output per sample, found " + described(outputs),
                "choose mae, mse or rmse, which take several");
  }
  with_rows_of(outputs, [&](const auto& found) {
    with_rows_of(labels, [&](const auto& wanted) {
      for (std::int64_t i = 0; i < found.samples; ++i) {
        numbers.push_back(static_cast<double>(found.at(i, 0)));
        numbers.push_back(static_cast<double>(wanted.at(i, 0)));
      }
    });
  });
  return {};
}

void co_moments::add(double x, double y, double times) noexcept {
  count += times;
  const double from_x = x - mean_x;
  const double from_y = y - mean_y;
  mean_x += from_x * (times / count);
  mean_y += from_y * (times / count);
  squares_x += times * from_x * (x - mean_x);
  squares_y += times * from_y * (y - mean_y);
  products += times * from_x * (y - mean_y);
}

void co_moments::add(const co_moments& other) noexcept {
  if (other.count == 0) return;
  const double all = count + other.count;
  const double x = other.mean_x - mean_x;
  const double y = other.mean_y - mean_y;
  const double weight = count * (other.count / all);
  mean_x += x * (other.count / all);
  mean_y += y * (other.count / all);
  squares_x += other.squares_x + x * x * weight;
  squares_y += other.squares_y + y * y * weight;
  products += other.products + x * y * weight;
  count = all;
}

double co_moments::correlation() const noexcept {
  if (count < 2 || squares_x == 0 || squares_y == 0) return std::numeric_limits<double>::quiet_NaN();
  const double value = products / (std::sqrt(squares_x) * std::sqrt(squares_y));
  return std::isnan(value) ? value : std::clamp(value, -1.0, 1.0);
}

}  // namespace troupe
