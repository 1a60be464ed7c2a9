#pragma once

#include <filesystem>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe {

/// E0611: `path` cannot be written, for the reason that errno value `reason` stands for.
tl::unexpected<error> unwritable(const std::filesystem::path& path, int reason);

/// Writes the whole file or nothing: a temporary name in the same directory, fsync, rename, fsync of the directory. A
/// reader sees the old content or the new one. Missing directories are made; after an error those of them that are
/// empty are removed, and nothing new is left behind. A killed program may leave its temporary file, which disturbs no
/// other. Errors are E0611 with the path and the system's reason.
expected<void> atomic_write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace troupe
