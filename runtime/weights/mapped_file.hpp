#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <c10/core/Storage.h>

#include <troupe/error.hpp>

namespace troupe {

/// A file in the memory of this process. The kernel reads a page when a byte in it is touched, so that a process holds
/// what it uses, and processes of one machine hold it once. The file must keep its size and content while it is mapped:
/// a reader of a page that the file no longer has is ended by SIGBUS. To replace a file, write another one and rename
/// it. Threads: any.
class mapped_file {
 public:
  /// E0201 does not exist, E0202 is a directory, E0210 cannot be read.
  static expected<std::shared_ptr<const mapped_file>> open(const std::filesystem::path& file);
  ~mapped_file();
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

  /// Whether the byte at `offset` lies at a multiple of `alignment` in memory.
  [[nodiscard]] bool is_aligned(std::uint64_t offset, std::uint64_t alignment) const noexcept;

  /// The memory of tensors: `count` bytes from `offset`, which the caller has checked against bytes(). It keeps the
  /// mapping. A write changes this process's copy of the page, never the file. Bytes that do not begin at a multiple of
  /// `alignment`, the size of an element, are copied.
  static c10::Storage storage(const std::shared_ptr<const mapped_file>& file, std::uint64_t offset, std::uint64_t count,
                              std::uint64_t alignment);

 private:
  mapped_file(std::string where, std::string_view bytes) : where_(std::move(where)), bytes_(bytes) {}

  std::string where_;
  std::string_view bytes_;
};

}  // namespace troupe
