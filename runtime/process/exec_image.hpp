#pragma once

#include <string>
#include <vector>

#include "runtime/process/spawn_request.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A program's path, arguments and environment in the form that execve(2) takes: nothing is left to allocate after the
/// fork. Moving it keeps the pointers valid.
class exec_image {
 public:
  /// E0614 for texts that contain a zero byte, bad names of variables, and bad or repeated numbers of descriptors.
  /// Reads the environment: no thread may call setenv() meanwhile.
  [[nodiscard]] static expected<exec_image> make(const spawn_request& request);

  exec_image(const exec_image&) = delete;
  exec_image& operator=(const exec_image&) = delete;
  exec_image(exec_image&&) = default;
  exec_image& operator=(exec_image&&) = default;
  ~exec_image() = default;

  [[nodiscard]] const char* program() const noexcept { return texts_.front().data(); }
  [[nodiscard]] char* const* arguments() const noexcept { return arguments_.data(); }
  [[nodiscard]] char* const* environment() const noexcept { return environment_.data(); }

 private:
  exec_image() = default;

  /// Vectors, as a moved string may move its bytes.
  std::vector<std::vector<char>> texts_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;
};

}  // namespace troupe
