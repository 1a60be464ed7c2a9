#include "chaos_nodes.hpp"

#include <numeric>

namespace troupe::cli {

std::vector<fault_shape::place> places_of(const chaos_nodes& launched, std::size_t stages) {
  const std::size_t slots =
      std::accumulate(launched.nodes.begin(), launched.nodes.end(), std::size_t{0},
                      [](std::size_t sum, const node_slots& each) { return sum + each.slots.size(); });
  std::vector<fault_shape::place> made;
  made.reserve(launched.nodes.size());
  for (std::size_t node = 0; node < launched.nodes.size(); ++node) {
    const std::size_t left = slots - launched.nodes[node].slots.size();
    made.push_back({.name = launched.nodes[node].name,
                    .has_driver = node == launched.driver_node,
                    .may_be_lost = left >= stages || (launched.allow_shrink && left > 0)});
  }
  return made;
}

}  // namespace troupe::cli
