#include "program/compare/paired.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/metric/quantile.hpp"

namespace troupe {
namespace {

/// The upper 64 bits of a product.
std::uint64_t high_part(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<wide>(a) * b) >> 64U);
}

}  // namespace

std::span<const std::uint64_t> pair_resampler::next() {
  for (std::uint64_t& each : drawn_) each = high_part(draw_.next(), drawn_.size());
  return drawn_;
}

bootstrap_interval interval_of(std::vector<double> values, double confidence) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (std::ranges::any_of(values, [](double value) { return std::isnan(value); })) return {none, none, none};
  double mean = 0;
  for (const double value : values) mean += value;
  mean /= static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  std::ranges::sort(values);
  return {quantile(values, (1 - confidence) / 2), quantile(values, (1 + confidence) / 2),
          std::sqrt(squares / static_cast<double>(values.size() - 1))};
}

double mcnemar_p(std::uint64_t only_first, std::uint64_t only_second) {
  const auto all = static_cast<double>(only_first + only_second);
  const std::uint64_t fewer = std::min(only_first, only_second);
  double sum = 0;
  for (std::uint64_t i = 0; i <= fewer; ++i) {
    const auto right = static_cast<double>(i);
    const double choices = std::lgamma(all + 1) - std::lgamma(right + 1) - std::lgamma(all - right + 1);
    sum += std::exp(choices - all * std::log(2.0));
  }
  return std::min(1.0, 2 * sum);
}

}  // namespace troupe
