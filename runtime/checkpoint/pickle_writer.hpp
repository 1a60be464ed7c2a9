#pragma once

#include <filesystem>

#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// Writes a dict as torch.save does, in the zip format, and synchronizes the file with the disk. torch.load reads it
/// with weights_only=True: dicts, lists, texts, numbers, truth values, None and dense tensors. Tensors that share
/// memory go on sharing it. Errors: E0611 the file cannot be written; E0217 a tensor that has no storage class in
/// PyTorch, or a list that is nested more than 64 deep, both by name.
expected<void> write_pickled(const std::filesystem::path& file, const client_state& root);

}  // namespace troupe
