#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/partition/partition_method.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Where p parts of n items begin and end: p + 1 numbers from 0 to n, never decreasing; part i is [b[i], b[i+1]).
using part_boundaries = std::vector<std::size_t>;

/// Equal numbers of items, one more for the first parts where it does not divide; with fewer items than parts the first
/// n parts get one each and the rest are empty. parts >= 1.
part_boundaries partition_uniform(std::size_t items, std::size_t parts);

/// DeepSpeed's partition_balanced: the dynamic programme of docs/partition.md, not the optimum of its own cost. As
/// partition_uniform where there are no more items than parts; no part is empty otherwise. Time O(items^2 x parts).
/// Weights are finite, not negative and have a finite sum (check_weights).
part_boundaries partition_balanced(std::span<const double> weights, std::size_t parts);

/// The largest part sum is as small as possible; among those the smallest sum of squared part sums, then the earliest
/// cuts. No part is empty: 1 <= parts <= weights.size(). Time O(items^2 x parts).
part_boundaries minimise_slowest(std::span<const double> weights, std::size_t parts);

/// E0513 naming the first weight that is negative or not finite; also for no weight at all, more than
/// limits::layers_max, or a sum that overflows. `what` is what one of them is called: "layer", "weight".
expected<void> check_weights(std::span<const double> weights, std::string_view what);

/// "1,2,0.5" as the command line takes weights. E0513 with the field that is none.
expected<std::vector<double>> parse_weights(std::string_view text);

/// `plan --layer-weights`: a bare list of weights, cut by uniform, balanced, profile (weights as seconds) or explicit
/// boundaries. The one place where parts may be empty. E0104 for methods that need a model or boundaries that do not
/// fit `parts`.
expected<part_boundaries> partition_weights(const partition_method& method, std::span<const double> weights,
                                            std::size_t parts);

/// {"boundaries":[0,1,2,3,3]}
std::string boundaries_json(const part_boundaries& boundaries);

}  // namespace troupe
