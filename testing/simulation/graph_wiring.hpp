#pragma once

#include "runtime/topology/wiring_plan.hpp"
#include "testing/simulation/graph.hpp"

namespace troupe::simulation {

/// As a user of the product would state the graph.
[[nodiscard]] stage_graph stated(const graph_plan& what);

/// What production makes of it. The graph is valid.
[[nodiscard]] wiring_plan wiring_of(const graph_plan& what);

}  // namespace troupe::simulation
