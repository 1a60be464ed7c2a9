#include "runtime/partition/method_costs.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

method_cost cost_of(std::string method, part_boundaries boundaries, std::span<const layer_weight> layers,
                    const cut_terms& terms) {
  std::vector<double> seconds;
  for (const layer_weight& each : layers) seconds.push_back(each.seconds);
  method_cost cost{.method = std::move(method), .boundaries = {}, .slowest_seconds = 0, .bytes = 0};
  for (const part_cost& each : costs_of(boundaries, seconds, places_of(layers), terms.cut_cost_seconds_per_byte)) {
    cost.slowest_seconds = std::max(cost.slowest_seconds, each.total());
    cost.bytes += each.bytes_before;
  }
  cost.boundaries = std::move(boundaries);
  return cost;
}

std::vector<method_cost> costs_of_methods(std::span<const layer_weight> layers, std::size_t stages,
                                          const cut_terms& terms) {
  std::vector<method_cost> costs;
  for (const partition_kind kind : {partition_kind::profile, partition_kind::parameters, partition_kind::uniform}) {
    const partition_method method{.kind = kind, .regex = {}, .boundaries = {}};
    auto boundaries = partition_layers(method, layers, stages, terms);
    if (boundaries) costs.push_back(cost_of(to_string(method), std::move(*boundaries), layers, terms));
  }
  return costs;
}

}  // namespace troupe
