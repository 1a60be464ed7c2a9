#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace troupe::bench {

/// Over the rounds.
struct spread {
  double median = 0;
  double least = 0;
  double most = 0;
};

/// Of at least one value.
spread spread_of(std::vector<double> values);

nlohmann::ordered_json spread_json(const spread& of);

}  // namespace troupe::bench
