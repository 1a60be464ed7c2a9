#include "spread.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace troupe::bench {

spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

nlohmann::ordered_json spread_json(const spread& of) {
  return {{"median", of.median}, {"min", of.least}, {"max", of.most}};
}

}  // namespace troupe::bench
