// Goal: the searches find what their definitions say. Method: minimise_slowest against all cuts of all small inputs;
// balanced against the recurrence written down once more, top-down.
#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "runtime/partition/weights.hpp"

namespace troupe {
namespace {

double sum(const std::vector<double>& weights, std::size_t begin, std::size_t end) {
  double total = 0;
  for (std::size_t i = begin; i < end; ++i) total += weights[i];
  return total;
}

/// Largest part, sum of squares, and the cuts themselves: what minimise_slowest compares, in this order.
using quality = std::tuple<double, double, part_boundaries>;

quality judge(const std::vector<double>& weights, const part_boundaries& cuts) {
  double largest = 0;
  double squares = 0;
  for (std::size_t p = 0; p + 1 < cuts.size(); ++p) {
    const double part = sum(weights, cuts[p], cuts[p + 1]);
    largest = std::max(largest, part);
    squares += part * part;
  }
  return {largest, squares, cuts};
}

void for_all_cuts(std::size_t items, std::size_t parts, part_boundaries& cuts, const std::function<void()>& visit) {
  if (cuts.size() == parts) {
    cuts.push_back(items);
    visit();
    cuts.pop_back();
    return;
  }
  for (std::size_t next = cuts.back() + 1; next < items; ++next) {
    cuts.push_back(next);
    for_all_cuts(items, parts, cuts, visit);
    cuts.pop_back();
  }
}

quality brute_force(const std::vector<double>& weights, std::size_t parts) {
  quality best{std::numeric_limits<double>::infinity(), 0, {}};
  part_boundaries cuts{0};
  for_all_cuts(weights.size(), parts, cuts, [&] { best = std::min(best, judge(weights, cuts)); });
  return best;
}

TEST(minimise_slowest, equals_brute_force_for_all_small_weights) {
  for (std::size_t n = 1; n <= 6; ++n) {
    std::vector<double> weights(n, 0);
    for (;;) {
      for (std::size_t parts = 1; parts <= n; ++parts) {
        ASSERT_EQ(minimise_slowest(weights, parts), std::get<2>(brute_force(weights, parts)));
      }
      std::size_t digit = 0;
      while (digit < n && ++weights[digit] == 4) weights[digit++] = 0;
      if (digit == n) break;
    }
  }
}

TEST(minimise_slowest, equals_brute_force_for_larger_random_weights) {
  std::mt19937_64 random(20);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> weights(5 + random() % 9);
    for (double& w : weights) w = static_cast<double>(random() % 1000);
    const std::size_t parts = 1 + random() % weights.size();
    ASSERT_EQ(minimise_slowest(weights, parts), std::get<2>(brute_force(weights, parts))) << round;
  }
}

TEST(minimise_slowest, bears_huge_and_tiny_weights) {
  EXPECT_EQ(minimise_slowest(std::vector<double>{1e300, 1e300, 1e300, 1e300}, 2), (part_boundaries{0, 2, 4}));
  EXPECT_EQ(minimise_slowest(std::vector<double>{1e-300, 1e-300, 1e-300, 1e-300}, 2), (part_boundaries{0, 2, 4}));
  EXPECT_EQ(minimise_slowest(std::vector<double>{0, 0, 0}, 2), (part_boundaries{0, 1, 3}));
}

struct joined {
  double largest, smallest;
  part_boundaries cuts;
  [[nodiscard]] double cost() const { return largest - smallest; }
};

/// best(i, j) of the reference, as a recursion over its own definition. No cuts where there is no such join.
joined best(const std::vector<double>& weights, std::size_t i, std::size_t j) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (i == 0 && j == 0) return {0, infinity, {0}};
  joined winner{0, 0, {}};
  if (j == 0) return winner;
  for (std::size_t k = i; k-- > 0;) {  // from the largest k, so that only a smaller cost replaces
    joined candidate = best(weights, k, j - 1);
    if (candidate.cuts.empty()) continue;
    const double part = sum(weights, k, i);
    candidate.largest = std::max(candidate.largest, part);
    candidate.smallest = std::min(candidate.smallest, part);
    candidate.cuts.push_back(i);
    if (winner.cuts.empty() || candidate.cost() < winner.cost()) winner = candidate;
  }
  return winner;
}

TEST(balanced, equals_the_recurrence_and_leaves_no_part_empty) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<double> weights(2 + random() % 9);
    const std::uint64_t range = 1 + random() % 5;
    for (double& w : weights) w = static_cast<double>(random() % range);
    const std::size_t parts = 1 + random() % (weights.size() - 1);
    const part_boundaries cuts = partition_balanced(weights, parts);
    ASSERT_EQ(cuts, best(weights, weights.size(), parts).cuts) << round;
    ASSERT_TRUE(std::adjacent_find(cuts.begin(), cuts.end(), std::greater_equal<>{}) == cuts.end());
  }
}

TEST(uniform, deals_out_evenly_and_larger_parts_first) {
  for (std::size_t n = 0; n <= 40; ++n) {
    for (std::size_t parts = 1; parts <= 12; ++parts) {
      const part_boundaries cuts = partition_uniform(n, parts);
      ASSERT_EQ(cuts.size(), parts + 1);
      ASSERT_EQ(cuts.front(), 0u);
      ASSERT_EQ(cuts.back(), n);
      for (std::size_t p = 0; p + 1 < parts; ++p) {
        const std::size_t here = cuts[p + 1] - cuts[p];
        const std::size_t next = cuts[p + 2] - cuts[p + 1];
        ASSERT_TRUE(here == next || here == next + 1);
        ASSERT_LE(here - n / parts, 1u);
      }
      if (n <= parts) {
        for (std::size_t p = 0; p <= parts; ++p) ASSERT_EQ(cuts[p], std::min(p, n));
      }
    }
  }
}

}  // namespace
}  // namespace troupe
