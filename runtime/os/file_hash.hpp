#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// SHA-256 of bytes that come in pieces.
class sha256 {
 public:
  sha256();
  ~sha256();
  sha256(const sha256&) = delete;
  sha256& operator=(const sha256&) = delete;

  void add(const void* bytes, std::size_t count);
  /// 64 hexadecimal digits. Once.
  [[nodiscard]] std::string digest();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// SHA-256 of a file's content as 64 hexadecimal digits, read once in blocks. What keeps it from being read is an error
/// of this code that names the file.
[[nodiscard]] expected<std::string> sha256_of_file(const std::string& path, error_code unreadable);

}  // namespace troupe
