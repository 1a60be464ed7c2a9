#pragma once

#include <string>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// Weights for other processes of this host and user, in a file that no folder has: it goes with this object, or with
/// the process. Its space is that of the folder for temporary files (TMPDIR).
class state_file {
 public:
  /// E0611.
  static expected<state_file> write(const state_dict& state);

  /// Under which the processes open it: "/proc/PID/fd/NUMBER".
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  state_file(unique_fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  unique_fd file_;
  std::string path_;
};

/// What write() was given. Errors: load_weights().
expected<state_dict> read_state_file(const std::string& path);

}  // namespace troupe
