#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "messages/seeded_draw.hpp"

namespace troupe {

/// Draws n of n samples with replacement, the same for the same seed on every machine: each is the integer part of
/// z * n / 2^64, where z is the next number of seeded_draw.
class pair_resampler {
 public:
  pair_resampler(std::uint64_t seed, std::uint64_t samples) : draw_(seed), drawn_(samples) {}
  /// The next resample; valid until the next call.
  [[nodiscard]] std::span<const std::uint64_t> next();

 private:
  seeded_draw draw_;
  std::vector<std::uint64_t> drawn_;
};

/// An interval for a difference, from its values in resamples.
struct bootstrap_interval {
  /// The quantiles (1 - confidence) / 2 and (1 + confidence) / 2, interpolated linearly between neighbours as by
  /// numpy.quantile. NaN where a value is NaN.
  double low = 0;
  double high = 0;
  /// The standard deviation of the values, with their number less 1 as the divisor.
  double standard_error = 0;
};
/// `values`: at least 2.
[[nodiscard]] bootstrap_interval interval_of(std::vector<double> values, double confidence);

/// The two-sided exact test of McNemar: the probability, if each sample that one model alone has right were as likely
/// to be the one's as the other's, of a division as uneven as this or more. min(1, 2 * P(X <= min(a, b))), where X is
/// binomial with a + b draws of probability 1/2.
[[nodiscard]] double mcnemar_p(std::uint64_t only_first, std::uint64_t only_second);

}  // namespace troupe
