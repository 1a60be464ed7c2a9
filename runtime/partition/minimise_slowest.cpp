#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "messages/check.hpp"
#include "runtime/partition/weights.hpp"

namespace troupe {
namespace {

constexpr double no_solution = std::numeric_limits<double>::infinity();

class slowest_part_minimiser {
 public:
  slowest_part_minimiser(std::span<const double> weights, std::size_t parts) : items_(weights.size()), parts_(parts) {
    for (const double w : weights) {
      sums_.push_back(sums_.back() + w);
    }
  }

  part_boundaries solve() const {
    // Two passes, as "least maximum, then least squares" has no optimal substructure in one: a prefix with a smaller
    // maximum may have larger squares and still be no better under the maximum of the whole.
    const double bound = least_maximum();
    return least_squares(bound);
  }

 private:
  [[nodiscard]] double part(std::size_t begin, std::size_t end) const { return sums_[end] - sums_[begin]; }

  [[nodiscard]] double least_maximum() const {
    std::vector<double> best(items_ + 1, no_solution);  // of items 0..i in j parts
    best[0] = 0;
    for (std::size_t j = 1; j <= parts_; ++j) {
      std::vector<double> next(items_ + 1, no_solution);
      for (std::size_t i = j; i <= items_; ++i) {
        for (std::size_t k = j - 1; k < i; ++k) {
          next[i] = std::min(next[i], std::max(best[k], part(k, i)));
        }
      }
      best = std::move(next);
    }
    return best[items_];
  }

  [[nodiscard]] part_boundaries least_squares(double bound) const {
    int exponent = 0;  // squares must not overflow; scaling by a power of two rounds nothing
    std::ignore = std::frexp(bound, &exponent);
    std::vector<double> best(items_ + 1, no_solution);  // of items i.. in j parts, none above the bound
    best[items_] = 0;
    std::vector<std::vector<std::uint32_t>> end_of_first(parts_ + 1, std::vector<std::uint32_t>(items_ + 1, 0));
    for (std::size_t j = 1; j <= parts_; ++j) {
      std::vector<double> next(items_ + 1, no_solution);
      for (std::size_t i = 0; i + j <= items_; ++i) {
        for (std::size_t k = i + 1; k + j - 1 <= items_ && part(i, k) <= bound; ++k) {
          const double sum = std::ldexp(part(i, k), -exponent);
          const double squares = sum * sum + best[k];
          if (squares < next[i]) {
            next[i] = squares;
            end_of_first[j][i] = static_cast<std::uint32_t>(k);
          }
        }
      }
      best = std::move(next);
    }
    part_boundaries result{0};
    for (std::size_t j = parts_; j > 0; --j) {
      result.push_back(end_of_first[j][result.back()]);
    }
    TROUPE_CHECK(result.back() == items_, "a cut within the bound exists, the first pass found it");
    return result;
  }

  std::size_t items_;
  std::size_t parts_;
  std::vector<double> sums_{0};
};

}  // namespace

part_boundaries minimise_slowest(std::span<const double> weights, std::size_t parts) {
  TROUPE_CHECK(parts >= 1 && parts <= weights.size(), "no part of a profile is empty");
  return slowest_part_minimiser(weights, parts).solve();
}

}  // namespace troupe
