#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/partition/partition_layers.hpp"

namespace troupe {

/// How a method would cut.
struct method_cost {
  /// As the user would write it.
  std::string method;
  part_boundaries boundaries;
  /// For one micro-batch, with what the cuts cost.
  double slowest_seconds = 0;
  /// All that crosses its cuts with one micro-batch.
  std::uint64_t bytes = 0;
};

/// These boundaries, which `method` has found, as the others are judged.
method_cost cost_of(std::string method, part_boundaries boundaries, std::span<const layer_weight> layers,
                    const cut_terms& terms);

/// profile, parameters and uniform, for layers that have been timed. Nothing where the stages are too many.
std::vector<method_cost> costs_of_methods(std::span<const layer_weight> layers, std::size_t stages,
                                          const cut_terms& terms);

}  // namespace troupe
