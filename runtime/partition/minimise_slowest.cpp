#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "messages/check.hpp"
#include "runtime/partition/cut_place.hpp"

namespace troupe {
namespace {

constexpr double no_solution = std::numeric_limits<double>::infinity();

/// By what cuts within one bound are compared.
struct cut_quality {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  double squares = no_solution;
  auto operator<=>(const cut_quality&) const = default;
};

class slowest_part_minimiser {
 public:
  slowest_part_minimiser(std::span<const double> seconds, std::span<const cut_place> places, double seconds_per_byte,
                         std::size_t parts)
      : parts_(parts), seconds_per_byte_(seconds_per_byte) {
    double sum = 0;
    add_place(0, 0, sum);
    for (std::size_t item = 0; item < seconds.size(); ++item) {
      if (item > 0 && places[item].is_allowed) add_place(item, places[item].bytes, sum);
      sum += seconds[item];
    }
    add_place(seconds.size(), 0, sum);
    blocks_ = items_.size() - 1;
  }

  part_boundaries solve() const {
    TROUPE_CHECK(parts_ >= 1 && parts_ <= blocks_, "no part of a profile is empty");
    // Two passes, as "least maximum, then the others" has no optimal substructure in one: a prefix with a smaller
    // maximum may cost more otherwise and still be no better under the maximum of the whole.
    return best_within(least_maximum());
  }

 private:
  void add_place(std::size_t item, std::uint64_t bytes, double seconds_before) {
    items_.push_back(item);
    bytes_.push_back(bytes);
    sums_.push_back(seconds_before);
  }

  [[nodiscard]] double part(std::size_t begin, std::size_t end) const {
    const double crossing = static_cast<double>(bytes_[begin]) + static_cast<double>(bytes_[end]);
    return sums_[end] - sums_[begin] + seconds_per_byte_ * crossing;
  }

  [[nodiscard]] double least_maximum() const {
    std::vector<double> best(blocks_ + 1, no_solution);  // of blocks 0..i in j parts
    best[0] = 0;
    for (std::size_t j = 1; j <= parts_; ++j) {
      std::vector<double> next(blocks_ + 1, no_solution);
      for (std::size_t i = j; i <= blocks_; ++i) {
        for (std::size_t k = j - 1; k < i; ++k) {
          next[i] = std::min(next[i], std::max(best[k], part(k, i)));
        }
      }
      best = std::move(next);
    }
    return best[blocks_];
  }

  [[nodiscard]] part_boundaries best_within(double bound) const {
    int exponent = 0;  // squares must not overflow; scaling by a power of two rounds nothing
    std::ignore = std::frexp(bound, &exponent);
    std::vector<cut_quality> best(blocks_ + 1);  // of blocks i.. in j parts, none above the bound
    best[blocks_] = {0, 0};
    std::vector<std::vector<std::uint32_t>> end_of_first(parts_ + 1, std::vector<std::uint32_t>(blocks_ + 1, 0));
    for (std::size_t j = 1; j <= parts_; ++j) {
      std::vector<cut_quality> next(blocks_ + 1);
      for (std::size_t i = 0; i + j <= blocks_; ++i) {
        // no early end: a longer part takes less time where fewer bytes cross at its end
        for (std::size_t k = i + 1; k + j - 1 <= blocks_; ++k) {
          const double seconds = part(i, k);
          if (seconds > bound || best[k].squares == no_solution) continue;
          const double scaled = std::ldexp(seconds, -exponent);
          const cut_quality quality{best[k].bytes + bytes_[k], best[k].squares + scaled * scaled};
          if (quality < next[i]) {
            next[i] = quality;
            end_of_first[j][i] = static_cast<std::uint32_t>(k);
          }
        }
      }
      best = std::move(next);
    }
    part_boundaries result{0};
    std::size_t block = 0;
    for (std::size_t j = parts_; j > 0; --j) {
      block = end_of_first[j][block];
      result.push_back(items_[block]);
    }
    TROUPE_CHECK(block == blocks_, "a cut within the bound exists, the first pass found it");
    return result;
  }

  std::size_t parts_;
  double seconds_per_byte_;
  /// Between places lie blocks of items that stay together. By place, with both ends, where nothing crosses:
  std::vector<std::size_t> items_;
  std::vector<std::uint64_t> bytes_;
  std::vector<double> sums_;
  std::size_t blocks_ = 0;
};

}  // namespace

part_boundaries minimise_slowest(std::span<const double> weights, std::size_t parts) {
  return minimise_slowest(weights, std::vector<cut_place>(weights.size()), 0, parts);
}

part_boundaries minimise_slowest(std::span<const double> seconds, std::span<const cut_place> places,
                                 double seconds_per_byte, std::size_t parts) {
  TROUPE_CHECK(places.size() == seconds.size(), "one place before each item");
  TROUPE_CHECK(seconds_per_byte >= 0 && std::isfinite(seconds_per_byte), "bytes cost time");
  return slowest_part_minimiser(seconds, places, seconds_per_byte, parts).solve();
}

}  // namespace troupe
