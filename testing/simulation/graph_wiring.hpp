#pragma once

#include <cstdint>
#include <vector>

#include "runtime/topology/wiring_plan.hpp"
#include "testing/simulation/graph.hpp"

namespace troupe::simulation {

/// As a user of the product would state the graph.
[[nodiscard]] stage_graph stated(const graph_plan& what);

/// The product's wiring of the graph, which is valid. `tied`: stages that share a weight.
[[nodiscard]] wiring_plan wiring_of(const graph_plan& what, bool trains = false,
                                    const std::vector<std::uint32_t>& tied = {});

}  // namespace troupe::simulation
