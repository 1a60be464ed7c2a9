#pragma once

#include <functional>
#include <istream>
#include <string_view>

#include "runtime/archive/zip_directory.hpp"

namespace troupe {

/// Reads an entry in pieces of limits::model_read_bytes at the most, unpacks it where it is packed, gives each piece to
/// `take`, and compares size and CRC-32 with the directory's at the end. Never unpacks more than the directory says.
zip_expected<void> read_zip_entry(std::istream& file, const zip_entry& entry,
                                  const std::function<void(std::string_view piece)>& take);

}  // namespace troupe
