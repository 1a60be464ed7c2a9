#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "messages/agent.hpp"
#include "runtime/agent/known_contents.hpp"
#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// `${TROUPE_CACHE_DIR:-${XDG_CACHE_HOME:-~/.cache}/troupe}/files`, of these variables before those of this process. An
/// absolute path; empty where no variable says one.
[[nodiscard]] std::string cache_directory(const std::vector<named_value>& environment);

/// A file on its way into a cache. It has no name before keep(), where the file system can do that, so that the death
/// of the process leaves nothing. Without keep() nothing is left either. Threads: one at a time.
class cached_file {
 public:
  cached_file(cached_file&& other) noexcept
      : file_(std::move(other.file_)), temporary_(std::exchange(other.temporary_, {})), path_(std::move(other.path_)) {}
  cached_file& operator=(cached_file&&) = delete;
  ~cached_file();

  [[nodiscard]] expected<void> add(std::span<const std::byte> content);
  /// Its name is that of its hash from now on, once all bytes are on the disk. Once.
  [[nodiscard]] expected<void> keep();

 private:
  friend class file_cache;
  cached_file(unique_fd file, std::string temporary, std::string path)
      : file_(std::move(file)), temporary_(std::move(temporary)), path_(std::move(path)) {}

  unique_fd file_;
  /// Its name so far; empty if it has none.
  std::string temporary_;
  std::string path_;
};

/// Files of drivers, named by the SHA-256 of their content, for all launches of a user on a node, or on several nodes
/// with one home. Any of them may be removed at any time. The directory and the files are the user's alone. All errors
/// are E0611 but those of known_contents. Threads: one; other processes may use the same directory.
class file_cache {
 public:
  explicit file_cache(std::string directory) : directory_(std::move(directory)) {}

  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  /// A file that is damaged is removed.
  [[nodiscard]] expected<bool> has(const file_identity& wanted, known_contents& known, const read_watch& watch) const;
  /// Makes the directory if there is none.
  [[nodiscard]] expected<cached_file> add(const std::string& hash) const;

 private:
  [[nodiscard]] expected<void> make_directory() const;
  const std::string directory_;
};

}  // namespace troupe
