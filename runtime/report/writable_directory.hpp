#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// Whether `files` could be written into `directory` later: proven by a small file that is made there, written through
/// to the disk and removed, with the directories that are missing. Nothing is left, and what was there stays as it is.
/// A directory in the place of one of the files is an error, too. E0611 with the path and the system's reason.
expected<void> check_writable_directory(const std::filesystem::path& directory,
                                        const std::vector<std::string>& files = {});

}  // namespace troupe
