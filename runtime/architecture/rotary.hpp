#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "runtime/architecture/config_reader.hpp"
#include "runtime/architecture/network.hpp"

namespace troupe {

/// Rotary position embeddings (Su et al., arXiv:2104.09864) as transformers computes them: in float32, for the
/// positions 0 to S - 1 whatever the mask.

/// The angle per position of each pair of numbers of a head, [size / 2] of float32: by "rope_theta" and "rope_scaling",
/// or by "rope_parameters", which transformers 5 writes in their place. The types are default, linear and llama3. E0219
/// for other types, and for members that none of these has.
at::Tensor rotary_frequencies(config_reader& config, std::int64_t size);

/// [S, size / 2] each.
struct rotary_values {
  tensor_value cosine = nullptr;
  tensor_value sine = nullptr;
};
/// In the type of `x`, which is [N, S, ...].
rotary_values rotary_embedding(network& net, tensor_value x, const at::Tensor& frequencies);
/// Turns [N, heads, S, size].
tensor_value rotate(network& net, tensor_value x, const rotary_values& by, std::int64_t size);

}  // namespace troupe
