// Which samples of made_up_set have NaN or an infinity among the outputs of many_classes().
#pragma once

#include <cmath>
#include <cstdint>

namespace troupe::testing {

constexpr double nan_above = 0.9;
constexpr double infinite_below = -0.95;

/// How many of the first samples have NaN, and how many an infinity, among their outputs.
inline std::uint64_t samples_with_nan(std::uint64_t samples) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < samples; ++i) count += std::sin(static_cast<double>(i)) > nan_above ? 1U : 0U;
  return count;
}
inline std::uint64_t samples_with_infinity(std::uint64_t samples) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < samples; ++i) count += std::sin(static_cast<double>(i)) < infinite_below ? 1U : 0U;
  return count;
}

}  // namespace troupe::testing
