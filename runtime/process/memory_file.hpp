#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A text in memory with a file name, for libraries that open files. The system frees it after the last process that
/// has it, whatever that process died of. The text is sealed against changes. All descriptors are close-on-exec; a
/// worker gets one as an inherited_fd made of duplicate().
class memory_file {
 public:
  /// `name` shows in /proc only. E0614 for a text of more than limits::memory_file_bytes_max bytes, and if the system
  /// refuses.
  [[nodiscard]] static expected<memory_file> make(const std::string& name, std::string_view text);

  /// Another descriptor of the same file, close-on-exec. It shares the read position with fd(), which make() leaves
  /// behind the text; what path_of() names is read from the start. E0614 if the system has no descriptor left.
  [[nodiscard]] expected<unique_fd> duplicate() const;

  /// "/proc/self/fd/N": valid in this process as long as this object lives. Every open() reads from the start.
  [[nodiscard]] std::string path() const { return path_of(fd_.get()); }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// The name under which a process opens its own descriptor `fd`.
  [[nodiscard]] static std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

 private:
  explicit memory_file(unique_fd fd) noexcept : fd_(std::move(fd)) {}

  unique_fd fd_;
};

}  // namespace troupe
