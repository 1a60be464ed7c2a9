#pragma once

#include <filesystem>
#include <vector>

namespace troupe {

/// Directories that a write has made, to be taken back if it fails. One thread.
class made_directories {
 public:
  /// Makes `directory` and those above it that are missing; may be called again. 0, or errno.
  [[nodiscard]] int make(const std::filesystem::path& directory);
  /// Removes what make() made, as far as it is empty: another process may have put something there meanwhile.
  void take_back() noexcept;

 private:
  std::vector<std::filesystem::path> made_;  ///< each in the one before it, or beside it
};

}  // namespace troupe
