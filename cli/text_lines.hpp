#pragma once

#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe::cli {

/// The lines of a text file, without their ends, \n or \r\n, and without a byte order mark at the beginning. An end of
/// the last line makes no further one. Errors: E0301, E0307; E0303 a line that is no UTF-8, by its number, and more
/// than 256 MiB or a million lines.
expected<std::vector<std::string>> read_text_lines(const std::string& path);

}  // namespace troupe::cli
