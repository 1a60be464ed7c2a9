#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace troupe {

/// The number below which so large a part of sorted numbers lies, linearly between the two nearest, as
/// numpy.quantile; NaN of none.
inline double quantile(std::span<const double> sorted, double part) {
  if (sorted.empty()) return std::nan("");
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  if (sorted[below] == sorted[above]) return sorted[below];  // both may be infinite
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace troupe
