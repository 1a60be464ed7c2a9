#pragma once

#include <cstdint>
#include <string>

#include "runtime/topology/stage_graph.hpp"

namespace troupe::testing {

/// A valid graph that the seed chooses: 2 to 10 stages, joins and routes (and perhaps one more that collects loose
/// ends), forks, replicas alone and in pipeline groups, 1 to 3 sinks at any output. Nodes are marked as ordered where
/// validate() asks for it, and now and then without need.
stage_graph random_graph(std::uint64_t seed);

/// The same without any node that keeps order: forks, routes and replicas only.
stage_graph random_tree(std::uint64_t seed);

std::string describe(const stage_graph& graph);

}  // namespace troupe::testing
