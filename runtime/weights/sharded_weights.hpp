#pragma once

#include <functional>
#include <vector>

#include "runtime/weights/reading.hpp"
#include <troupe/weights.hpp>

namespace troupe {

/// Reads a file that holds tensors itself, names as in the file.
using shard_reader = std::function<expected<state_dict>(const std::filesystem::path& file)>;

/// The tensors of an index (model.safetensors.index.json, pytorch_model.bin.index.json), in its order, from the files
/// beside it. Those have plain names and lie in the folder of the index, or, where that is a snapshot in the cache of
/// Hugging Face, behind a link to its folder "blobs". E0207 for a file that is missing; E0210 for one outside of the
/// folder, a tensor that its file does not have, or one that stands twice; and the errors of `read`.
/// `folder` has the index, and `locate` says where its files are (load_weights()).
expected<state_dict> read_sharded(weights_reading& index, const std::filesystem::path& folder,
                                  const file_locator& locate, const shard_reader& read);

/// The files that an index names; none for one that cannot be read.
std::vector<std::filesystem::path> files_of_index(weights_reading& index, const std::filesystem::path& folder);

}  // namespace troupe
