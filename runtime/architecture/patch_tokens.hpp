#pragma once

#include <cstdint>
#include <string>

#include "runtime/architecture/network.hpp"

namespace troupe {

struct patch_sizes {
  std::int64_t channels = 3;
  /// Height and width of a picture.
  std::int64_t side = 224;
  /// Height and width of a patch; pixels behind the last whole one count for nothing.
  std::int64_t patch = 16;
  std::int64_t hidden = 1;
};
/// Pictures as the tokens of a transformer (Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv:2010.11929):
/// [N, channels, side, side] to [N, S, hidden], a token for each patch. Pictures of other sizes are an error of the
/// model: another shape may have as many patches, and positions that are not its own.
tensor_value patch_tokens(network& net, const std::string& name, tensor_value pixels, const patch_sizes& sizes);

/// [N, S + 1, hidden]: `token` [1, 1, hidden] before those of each picture.
tensor_value behind_token(network& net, tensor_value token, tensor_value x);

}  // namespace troupe
