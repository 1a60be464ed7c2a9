#pragma once

#include "runtime/topology/wiring_plan.hpp"
#include "testing/simulation/graph.hpp"

namespace troupe::simulation {

/// As a user of the product would state the graph.
[[nodiscard]] stage_graph stated(const graph_plan& what);

/// The product's wiring of the graph, which is valid.
[[nodiscard]] wiring_plan wiring_of(const graph_plan& what, bool trains = false);

}  // namespace troupe::simulation
