#include "spread.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <nlohmann/json.hpp>

namespace troupe::bench {
namespace {

/// How many of `count` sorted values lie outside at either end: the most for which a fair coin thrown `count` times
/// shows fewer heads than one more with a probability of at most 2.5 %.
std::size_t left_out(std::size_t count) {
  double one = std::pow(0.5, static_cast<double>(count));
  double at_most = one;
  std::size_t heads = 0;
  while (at_most <= 0.025 && heads < count) {
    ++heads;
    one *= static_cast<double>(count - heads + 1) / static_cast<double>(heads);
    at_most += one;
  }
  return heads == 0 ? 0 : heads - 1;
}

}  // namespace

spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  const std::size_t outside = left_out(values.size());
  return {median, values.front(), values.back(), values[outside], values[values.size() - 1 - outside]};
}

nlohmann::ordered_json spread_json(const spread& of) {
  return {{"median", of.median}, {"min", of.least}, {"max", of.most}, {"low", of.low}, {"high", of.high}};
}

}  // namespace troupe::bench
