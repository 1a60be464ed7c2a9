// Support of the tests of files on a node: a directory of the test's own, and files in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "messages/agent.hpp"
#include "runtime/os/file_hash.hpp"

namespace troupe::testing {

inline std::string hash_of(const std::string& content) {
  sha256 hash;
  hash.add(content.data(), content.size());
  return hash.digest();
}

inline std::vector<std::byte> bytes_of(const std::string& content) {
  const auto bytes = std::as_bytes(std::span(content));
  return {bytes.begin(), bytes.end()};
}

inline std::string content_of(const std::filesystem::path& path) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path, missing);
  std::string content(missing ? 0 : size, '\0');
  std::ifstream(path, std::ios::binary).read(content.data(), static_cast<std::streamsize>(content.size()));
  return content;
}

class file_folder {
 public:
  file_folder() {
    std::string name = ::testing::TempDir() + "troupe_files_XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  file_folder(const file_folder&) = delete;
  file_folder& operator=(const file_folder&) = delete;
  ~file_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (root / name).string(); }
  [[nodiscard]] std::string cache() const { return path("cache/troupe/files"); }
  [[nodiscard]] std::filesystem::path cached(const std::string& content) const {
    return std::filesystem::path(cache()) / hash_of(content);
  }
  /// A file with this content, at this path.
  file_identity write(const std::filesystem::path& at, const std::string& content) const {
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at, std::ios::binary) << content;
    return {.path = at.string(), .hash = hash_of(content), .size = content.size()};
  }
  /// How many names the cache has.
  [[nodiscard]] std::size_t cache_names() const {
    namespace fs = std::filesystem;
    return fs::exists(cache()) ? static_cast<std::size_t>(std::distance(fs::directory_iterator(cache()), {})) : 0;
  }

  std::filesystem::path root;
};

}  // namespace troupe::testing
