#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "messages/check.hpp"
#include "runtime/metric/metric.hpp"

namespace troupe {

inline metric_value::field count_field(std::string name, std::uint64_t count) {
  return {std::move(name), false, true, {}, {count}};
}

inline metric_value::field count_list(std::string name, std::span<const std::uint64_t> counts) {
  return {std::move(name), true, true, {}, {counts.begin(), counts.end()}};
}

inline metric_value::field real_field(std::string name, double real) {
  return {std::move(name), false, false, {real}, {}};
}

inline metric_value::field real_list(std::string name, std::vector<double> reals) {
  return {std::move(name), true, false, std::move(reals), {}};
}

/// A share of nothing is not a number: 0 would say that all were wrong.
inline double share(std::uint64_t part, std::uint64_t total) {
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(part) / static_cast<double>(total);
}

inline void merge_counts(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) {
  TROUPE_CHECK(total.size() == part.size(), "states of one metric have one size");
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
}

}  // namespace troupe
