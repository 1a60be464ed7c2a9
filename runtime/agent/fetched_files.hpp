#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// The variable that tells workers of a node which files stand for paths that the node does not have.
inline constexpr const char* files_variable = "TROUPE_FILES";

/// Which content of a cache stands for which path. A value; no threads.
class fetched_files {
 public:
  fetched_files() = default;
  /// An absolute path.
  explicit fetched_files(std::string directory) : directory_(std::move(directory)) {}

  /// The last limits::node_files_max are kept, which a run can have.
  void add(const std::string& path, const std::string& content_hash);
  /// The file in the cache; nothing for a path that was not added.
  [[nodiscard]] std::optional<std::string> find(const std::string& path) const;
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

  /// "PATH_HASH=CONTENT_HASH;...;DIRECTORY", with SHA-256 in hexadecimal digits: a path may have any bytes.
  [[nodiscard]] std::string text() const;
  /// Takes what text() gives; nothing for anything else.
  [[nodiscard]] static std::optional<fetched_files> parse(std::string_view text);

 private:
  std::string directory_;
  struct entry {
    std::string path_hash;
    std::string content_hash;
  };
  std::vector<entry> entries_;
};

/// 64 of 0-9 and a-f, so that it can be the name of a file.
[[nodiscard]] bool is_hash(std::string_view text);

}  // namespace troupe
