#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <unistd.h>

namespace troupe::testing {

/// A directory of its own, removed at the end.
class scratch {
 public:
  scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "test-cli-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  /// Names of everything below.
  [[nodiscard]] std::set<std::string> entries() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      found.insert(entry.path().lexically_relative(path_).string());
    }
    return found;
  }

 private:
  std::filesystem::path path_;
};

inline std::string file_content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace troupe::testing
