#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/partition/partition_method.hpp"
#include "runtime/partition/weights.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What partition_weights and partition_layers refuse alike. `what` is what one item is called: "layer", "weight".

/// E0103 unless 1 <= parts <= limits::stages_max.
expected<void> check_parts(std::size_t parts);

/// Items that are to be cut into parts.
struct cut_items {
  std::string_view what;
  std::size_t count = 0;
  /// Those that cannot be separated from the one before them.
  std::size_t joined = 0;
  /// Why there are no more places to cut; empty: nothing is known beyond what holds for all models.
  std::string because = {};
};

/// E0106 for more parts than the items can be cut into.
expected<void> check_enough(const cut_items& items, std::size_t parts);

/// The explicit boundaries of `method`, if they end with `items` (else E0512) and make `parts` parts (else E0104).
expected<part_boundaries> check_boundaries(const partition_method& method, std::size_t items, std::size_t parts,
                                           std::string_view what);

}  // namespace troupe
