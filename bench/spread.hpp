#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace troupe::bench {

/// Over the rounds.
struct spread {
  double median = 0;
  double least = 0;
  double most = 0;
  /// What holds the median that endless rounds would have, with at least 95 % (order statistics, from the binomial
  /// distribution; nothing is assumed of the noise but that rounds are independent). Least and most below six values,
  /// which are too few for that.
  double low = 0;
  double high = 0;
};

/// Of at least one value.
spread spread_of(std::vector<double> values);

nlohmann::ordered_json spread_json(const spread& of);

}  // namespace troupe::bench
