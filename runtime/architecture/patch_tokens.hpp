#pragma once

#include <cstdint>
#include <string>

#include "runtime/architecture/network.hpp"

namespace troupe {

/// Pictures as the tokens of a transformer (Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv:2010.11929):
/// [N, channels, height, width] to [N, S, hidden], a token for each square of `patch` x `patch` pixels.
tensor_value patch_tokens(network& net, const std::string& name, tensor_value pixels, std::int64_t channels,
                          std::int64_t hidden, std::int64_t patch);

/// [N, S + 1, hidden]: `token` [1, 1, hidden] before those of each picture.
tensor_value behind_token(network& net, tensor_value token, tensor_value x);

}  // namespace troupe
