#pragma once

#include <cstdint>
#include <string>

#include "runtime/architecture/network.hpp"

namespace troupe {

/// Song et al., "MPNet" (arXiv:2004.09297): an encoder as RoBERTa, where the distance of two tokens counts, too. The
/// layers share the table of distances.

/// [buckets, heads], in the module of the encoder.
tensor_value mpnet_distances(network& net, std::int64_t buckets, std::int64_t heads);

/// The summand for the scores by the distance of each two tokens, [1, heads, S, S]. `x` is [N, S, hidden].
tensor_value mpnet_scores(network& net, tensor_value x, tensor_value distances);

}  // namespace troupe
