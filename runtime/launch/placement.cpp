#include "runtime/launch/placement.hpp"

#include <string>

#include "messages/check.hpp"

namespace troupe {

expected<placement> place_ranks(std::uint64_t ranks, std::span<const node_slots> nodes) {
  placement made;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (const std::uint32_t slot : nodes[node].slots) {
      (made.ranks.size() < ranks ? made.ranks : made.spares).push_back({node, slot});
    }
  }
  if (made.ranks.size() == ranks) return made;
  return fail(error_code::value_out_of_range, "the nodes",
              std::to_string(ranks) + " stage replicas, and " + std::to_string(made.ranks.size()) + " slots for them",
              "give more nodes or slots, or fewer stages or replicas");
}

double crossing_share(const placement& placed, std::span<const std::uint64_t> from, std::span<const std::uint64_t> to) {
  TROUPE_CHECK(!from.empty() && !to.empty(), "a node of the graph has replicas");
  std::size_t crossing = 0;
  for (const std::uint64_t one : from) {
    for (const std::uint64_t other : to) crossing += placed.ranks.at(one).node != placed.ranks.at(other).node ? 1 : 0;
  }
  return static_cast<double>(crossing) / static_cast<double>(from.size() * to.size());
}

}  // namespace troupe
