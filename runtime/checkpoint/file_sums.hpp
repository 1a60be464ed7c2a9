#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// In the folder of a tag: the SHA-256 of each other file in it, as sha256sum(1) prints and `sha256sum -c` reads it. A
/// checkpoint that DeepSpeed has saved has none.
inline constexpr const char* sums_name = "SHA256SUMS";

/// What the files of a folder were when they were saved.
class file_sums {
 public:
  /// Where the folder has no sums, nothing is checked. E0210 for a file that is none of them.
  [[nodiscard]] static expected<file_sums> read(const std::filesystem::path& folder);
  /// Reads the whole file. E0210 where it has other bytes, or no sum in a folder with sums.
  [[nodiscard]] expected<void> check(const std::filesystem::path& file) const;

 private:
  /// By the name of the file: 64 hexadecimal digits. Nothing: the folder has no sums.
  std::optional<std::map<std::string, std::string>> sums_;
};

/// Writes the sums of all files that the folder has. E0611.
[[nodiscard]] expected<void> write_sums(const std::filesystem::path& folder);

}  // namespace troupe
