#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include <troupe/metric.hpp>

namespace troupe::bench {

/// Equal counts, and real numbers that are equal to the last bit.
inline bool same_bits(const std::vector<metric_value>& a, const std::vector<metric_value>& b) {
  const auto same_real = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  const auto same_field = [&](const metric_value::field& x, const metric_value::field& y) {
    return x.counts == y.counts && std::ranges::equal(x.reals, y.reals, same_real);
  };
  return std::ranges::equal(a, b, [&](const metric_value& x, const metric_value& y) {
    return std::ranges::equal(x.fields, y.fields, same_field);
  });
}

}  // namespace troupe::bench
