#pragma once

#include <functional>
#include <memory>

#include "runtime/weights/reading.hpp"
#include <troupe/weights.hpp>

namespace troupe {

/// Reads a file that holds tensors itself, names as in the file.
using shard_reader = std::function<expected<state_dict>(const std::filesystem::path& file)>;

/// The tensors of an index (model.safetensors.index.json, pytorch_model.bin.index.json), in its order, from the files
/// beside it. Those have plain names and lie in the folder of the index, or, where that is a snapshot in the cache of
/// Hugging Face, behind a link to its folder "blobs". E0207 for a file that is missing; E0210 for one outside of the
/// folder, a tensor that its file does not have, or one that stands twice; and the errors of `read`.
expected<state_dict> read_sharded(weights_reading& index, const shard_reader& read);

}  // namespace troupe
