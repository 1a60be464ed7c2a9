#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe::cli {

/// A new folder among the temporary files, for this user alone. The destructor removes it with all that it holds; one
/// whose process was killed goes when the next is made.
class private_folder {
 public:
  /// E0611, E0614.
  [[nodiscard]] static expected<std::unique_ptr<private_folder>> make();
  private_folder(const private_folder&) = delete;
  private_folder& operator=(const private_folder&) = delete;
  ~private_folder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  private_folder(std::filesystem::path path, unique_fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  const std::filesystem::path path_;
  /// Held as long as the process lives.
  const unique_fd lock_;
};

/// Everything in the file; nothing if it cannot be read or has more bytes.
[[nodiscard]] std::optional<std::string> read_small_file(const std::filesystem::path& file, std::size_t bytes_max);

}  // namespace troupe::cli
