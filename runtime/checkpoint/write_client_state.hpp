#pragma once

#include <filesystem>

#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// Writes a dict as torch.save does, in the zip format, and synchronizes the file with the disk. torch.load reads it
/// with weights_only=True. Tensors that are all of their storage go on sharing it. Errors: E0611 the file cannot be
/// written; E0217 a tensor that is not dense or of a type that torch.save does not have, or values that are nested more
/// than 64 deep, both by name.
expected<void> write_client_state(const std::filesystem::path& file, const client_state& root);

}  // namespace troupe
