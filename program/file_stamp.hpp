#pragma once

#include <string>

namespace troupe {

/// What tells a file from one that took its place: its name with its size and time of change, or with the SHA-256 of
/// its content. A content is read again only when size, times or inode have changed since. The name alone for a file
/// that cannot be seen. Threads: any.
[[nodiscard]] std::string stamp_by_time(const std::string& file);
[[nodiscard]] std::string stamp_by_content(const std::string& file);

}  // namespace troupe
