#pragma once

#include <string>

#include "messages/agent.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What tells a file from one that took its place: its name with its size and time of change, or with the SHA-256 of
/// its content. A content is read again only when size, times or inode have changed since. The name alone for a file
/// that cannot be seen. What stands for the file in this process is read (local_file.hpp). Threads: any.
[[nodiscard]] std::string stamp_by_time(const std::string& file);
[[nodiscard]] std::string stamp_by_content(const std::string& file);
/// The same as stamp_by_content, for another node. E0210 for a file that cannot be read.
[[nodiscard]] expected<file_identity> identity_of(const std::string& file);

}  // namespace troupe
