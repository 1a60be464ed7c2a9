#pragma once

#include <cmath>
#include <vector>

namespace troupe::testing {

/// The sum of (found - expected)^2 / expected, in standard deviations from its mean under the distribution: beyond 4 on
/// either side is an error (one draw in ten thousand, were the seeds not fixed).
inline double chi_square_deviation(const std::vector<double>& found, double expected) {
  double sum = 0;
  for (const double each : found) sum += (each - expected) * (each - expected) / expected;
  const double freedom = static_cast<double>(found.size()) - 1;
  return (sum - freedom) / std::sqrt(2 * freedom);
}

}  // namespace troupe::testing
