#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/launch/node_filter.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A slot of a launch.
struct slot_place {
  /// Position in the list of nodes.
  std::size_t node = 0;
  std::uint32_t slot = 0;
  friend bool operator==(const slot_place&, const slot_place&) = default;
};

/// Where the ranks of a run are, and which slots are left for spare workers.
struct placement {
  /// By rank (process_topology).
  std::vector<slot_place> ranks;
  std::vector<slot_place> spares;
};

/// Ranks on slots, both in their order: neighbouring ranks are together on a node as long as it has slots. E0103 where
/// the slots are too few; it says how many there are.
[[nodiscard]] expected<placement> place_ranks(std::uint64_t ranks, std::span<const node_slots> nodes);

/// The share of pairs, one rank of each list, whose two ranks are on different nodes; 0 to 1. Both lists have elements.
[[nodiscard]] double crossing_share(const placement& placed, std::span<const std::uint64_t> from,
                                    std::span<const std::uint64_t> to);

}  // namespace troupe
