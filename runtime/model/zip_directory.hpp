#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace troupe {

/// Why the names of a zip file's entries could not be read.
struct zip_fault {
  /// The end of the file is not there or points behind it; otherwise the content is damaged.
  bool truncated = false;
  std::string cause;
};

/// The names in the central directory of a zip file of `bytes` bytes, in its order (PKWARE APPNOTE 4.3.12 to 4.3.16,
/// zip64 included). Reads the directory and nothing else; every size is checked against the file before memory is
/// allocated.
tl::expected<std::vector<std::string>, zip_fault> read_zip_names(std::istream& file, std::uint64_t bytes);

}  // namespace troupe
