#include "runtime/metric/paired_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "messages/try.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

namespace {

/// The numbers of one side in their order.
class ranked_numbers {
 public:
  ranked_numbers(const std::vector<double>& pairs, std::size_t side)
      : order_(pairs.size() / 2), is_tied_(order_.size()) {
    const auto number = [&](std::uint32_t i) { return pairs[2 * i + side]; };
    std::iota(order_.begin(), order_.end(), 0U);
    has_nan_ = std::ranges::any_of(order_, [&](std::uint32_t i) { return std::isnan(number(i)); });
    if (has_nan_) return;
    std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
      return number(a) < number(b) || (number(a) == number(b) && a < b);
    });
    for (std::size_t at = 1; at < order_.size(); ++at) is_tied_[at] = number(order_[at]) == number(order_[at - 1]);
  }

  [[nodiscard]] bool has_nan() const noexcept { return has_nan_; }

  /// The rank of each number where number i is there times[i] times: of equal ones their mean.
  void rank(std::span<const std::uint32_t> times, std::vector<double>& ranks) const {
    ranks.resize(order_.size());
    double below = 0;
    for (std::size_t at = 0; at < order_.size();) {
      const std::size_t begin = at;
      double equal = 0;
      do {
        equal += times[order_[at]];
        ++at;
      } while (at < order_.size() && is_tied_[at] != 0);
      for (std::size_t each = begin; each < at; ++each) ranks[order_[each]] = below + (equal + 1) / 2;
      below += equal;
    }
  }

 private:
  bool has_nan_ = false;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint8_t> is_tied_;
};

class ranked_pairs final : public resampled::samples {
 public:
  explicit ranked_pairs(const std::vector<double>& pairs) : size_(pairs.size() / 2), x_(pairs, 0), y_(pairs, 1) {}

  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] double value(std::span<const std::uint32_t> times) override {
    if (x_.has_nan() || y_.has_nan()) return std::nan("");
    x_.rank(times, x_ranks_);
    y_.rank(times, y_ranks_);
    co_moments moments;
    for (std::size_t i = 0; i < size_; ++i) {
      if (times[i] > 0) moments.add(x_ranks_[i], y_ranks_[i], times[i]);
    }
    return moments.correlation();
  }

 private:
  const std::size_t size_;
  const ranked_numbers x_;
  const ranked_numbers y_;
  std::vector<double> x_ranks_;
  std::vector<double> y_ranks_;
};

}  // namespace

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
  if (count < 2 || squares_x == 0 || squares_y == 0) return std::nan("");
  const double value = products / (std::sqrt(squares_x) * std::sqrt(squares_y));
  return std::isnan(value) ? value : std::clamp(value, -1.0, 1.0);
}

std::unique_ptr<resampled::samples> rank_pairs(const std::vector<double>& pairs) {
  return std::make_unique<ranked_pairs>(pairs);
}

}  // namespace troupe
