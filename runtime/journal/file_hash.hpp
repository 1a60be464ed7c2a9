#pragma once

#include <string>

#include "messages/error.hpp"

namespace troupe {

/// SHA-256 of a file's content as 64 hexadecimal digits, read once in blocks. What keeps it from being read is an error
/// of this code that names the file.
[[nodiscard]] expected<std::string> sha256_of_file(const std::string& path, error_code unreadable);

}  // namespace troupe
