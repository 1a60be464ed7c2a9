#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/metric/sample_metric.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// Appends the output and the label of each sample. E0603 unless there is one number of each: [N], or [N, 1].
[[nodiscard]] expected<void> append_pairs(const std::string& metric, const scored_part& part,
                                          std::vector<double>& numbers);

/// Means, sums of squared distances from them and of products of these distances, of pairs (x, y).
/// Welford's update, and Chan's to merge: no difference of large sums.
struct co_moments {
  double count = 0;
  double mean_x = 0;
  double mean_y = 0;
  double squares_x = 0;
  double squares_y = 0;
  double products = 0;

  void add(double x, double y, double times) noexcept;
  void add(const co_moments& other) noexcept;
  /// NaN for fewer than two pairs, or where all x or all y are equal.
  [[nodiscard]] double correlation() const noexcept;
};

/// Pairs x, y, x, y and so on, of which the value is the correlation of the ranks, where equal numbers share the mean
/// of theirs. NaN where a number is NaN, and as co_moments::correlation(). Keeps no reference to `pairs`.
[[nodiscard]] std::unique_ptr<resampled::samples> rank_pairs(const std::vector<double>& pairs);

}  // namespace troupe
