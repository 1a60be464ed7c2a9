#include <algorithm>
#include <cstdint>
#include <limits>

#include "messages/check.hpp"
#include "runtime/partition/weights.hpp"

namespace troupe {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// best(i, j): how items 0..i are cut into j parts.
struct cut {
  double largest = infinity;
  double smallest = infinity;
  double cost = infinity;
};

std::vector<double> prefix_sums(std::span<const double> weights) {
  std::vector<double> sums{0};
  for (const double w : weights) {
    sums.push_back(sums.back() + w);
  }
  return sums;
}

/// best(i, j) from all best(k, j - 1); `chosen` is the k that won.
cut best_join(const std::vector<cut>& fewer_parts, const std::vector<double>& sums, std::size_t i,
              std::uint32_t& chosen) {
  cut best;
  for (std::size_t k = 0; k < i; ++k) {
    const double last_part = sums[i] - sums[k];
    const double largest = std::max(fewer_parts[k].largest, last_part);
    const double smallest = std::min(fewer_parts[k].smallest, last_part);
    // Not `<`: among equal costs the largest k wins.
    if (largest - smallest <= best.cost) {
      best = {largest, smallest, largest - smallest};
      chosen = static_cast<std::uint32_t>(k);
    }
  }
  return best;
}

}  // namespace

part_boundaries partition_balanced(std::span<const double> weights, std::size_t parts) {
  const std::size_t n = weights.size();
  if (n <= parts) {
    return partition_uniform(n, parts);
  }
  TROUPE_CHECK(parts >= 1, "items are dealt out to at least one part");
  const std::vector<double> sums = prefix_sums(weights);
  std::vector<cut> previous(n + 1);
  previous[0] = {0, infinity, 0};
  std::vector<std::vector<std::uint32_t>> chosen(parts + 1, std::vector<std::uint32_t>(n + 1, 0));
  for (std::size_t j = 1; j <= parts; ++j) {
    std::vector<cut> current(n + 1);
    for (std::size_t i = j; i <= n; ++i) {
      current[i] = best_join(previous, sums, i, chosen[j][i]);
    }
    previous = std::move(current);
  }
  part_boundaries result(parts + 1, n);
  for (std::size_t j = parts; j > 0; --j) {
    result[j - 1] = chosen[j][result[j]];
  }
  TROUPE_CHECK(result.front() == 0, "j parts of i >= j items begin with item 0");
  return result;
}

}  // namespace troupe
