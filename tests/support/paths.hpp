#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace troupe::testing {

/// The source tree: ctest says where; a test started by hand uses the current directory.
inline std::filesystem::path source_dir() {
  const char* dir = std::getenv("TROUPE_SOURCE_DIR");
  return dir != nullptr ? dir : std::filesystem::current_path();
}

/// The models and data in the repository.
inline std::filesystem::path data_dir() {
  return source_dir() / "data";
}

/// The full reference data beside the repository or at TROUPE_DATA_DIR; an empty path when it is not there.
inline std::filesystem::path full_data_dir() {
  const char* given = std::getenv("TROUPE_DATA_DIR");
  const std::filesystem::path dir = given != nullptr ? std::filesystem::path(given) : source_dir() / "../shared/data";
  return std::filesystem::exists(dir) ? dir : std::filesystem::path{};
}

}  // namespace troupe::testing
