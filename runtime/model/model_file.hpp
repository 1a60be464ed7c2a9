#pragma once

#include <filesystem>

#include <troupe/error.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// Looks at a model file before LibTorch does, as LibTorch says of every wrong file that it is "corrupted" at best,
/// and runs its code while it loads it. Passes what has the outline of a TorchScript archive, a whole zip file
/// with data.pkl and code/, and stands the look at its content (archive_check.hpp); reads all of the file once. Errors
/// name the file: E0201 does not exist, E0202 is a directory, E0203 truncated or empty, E0204 state dict, E0205 legacy
/// pickle (pre-zip), E0206 git-lfs pointer, E0207 anything else, E0210 unreadable or damaged, E0212 effects, E0213
/// checksums, E0214 limits. Any thread.
expected<void> check_model_file(const std::filesystem::path& file, const model_loading& how = {});

}  // namespace troupe
