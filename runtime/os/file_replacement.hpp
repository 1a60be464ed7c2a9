#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/os/unique_fd.hpp"

namespace troupe {

/// A file that is written under another name in the directory of `path`, and takes its place when it is whole: a reader
/// sees the old content or the new one. Without publish() nothing is left. A killed program may leave its
/// temporary file, whose name begins with `prefix`, and which disturbs no other. Each function gives 0 or errno. One
/// thread.
class file_replacement {
 public:
  explicit file_replacement(std::filesystem::path path, std::string prefix = ".troupe-")
      : path_(std::move(path)), prefix_(std::move(prefix)) {}
  ~file_replacement();
  file_replacement(const file_replacement&) = delete;
  file_replacement& operator=(const file_replacement&) = delete;

  /// The directory must be there.
  [[nodiscard]] int open();
  [[nodiscard]] int write(std::string_view content);
  /// In place of the first bytes that were written, which are at least as many.
  [[nodiscard]] int write_at_begin(std::string_view content);
  /// fsync, rename, and fsync of the directory.
  [[nodiscard]] int publish();

 private:
  std::filesystem::path path_;
  std::string prefix_;
  /// The name until it is published.
  std::string temporary_;
  unique_fd fd_;
};

}  // namespace troupe
