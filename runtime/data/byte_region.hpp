#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// `count` pieces of `width` bytes: the first at `offset`, each other one `stride` bytes behind the start of the one
/// before.
struct byte_pieces {
  std::uint64_t offset = 0;
  std::uint64_t count = 1;
  std::uint64_t width = 0;
  std::uint64_t stride = 0;
};

/// The content of one file, in memory or read from the file each time. Any thread may read.
///
/// Files are read and not mapped: a mapped file that is cut short, or whose disk fails, kills the process (SIGBUS) when
/// the page is touched; a read that fails is an error.
class byte_region {
 public:
  byte_region() = default;
  byte_region(const byte_region&) = delete;
  byte_region& operator=(const byte_region&) = delete;
  virtual ~byte_region() = default;

  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  /// Copies the pieces, which lie inside [0, size()), behind each other into `into`, which has their size. What was
  /// copied is content of the file that was opened: a file that was cut short since then is E0302, one that was
  /// changed or cannot be read E0307.
  [[nodiscard]] virtual expected<void> read(const byte_pieces& pieces, std::span<std::uint8_t> into) const = 0;
  /// One piece as long as `into`.
  [[nodiscard]] expected<void> read(std::uint64_t offset, std::span<std::uint8_t> into) const {
    return read({.offset = offset, .width = into.size(), .stride = into.size()}, into);
  }
};

using byte_region_ptr = std::shared_ptr<const byte_region>;

/// A regular file with at least one byte. Errors: missing E0301, empty E0306, a directory, device or unreadable E0307.
expected<byte_region_ptr> open_bytes(const std::string& path);

/// Bytes that were unpacked into memory.
byte_region_ptr own_bytes(std::unique_ptr<std::uint8_t[]> bytes, std::size_t size);

/// `size` bytes of `whole` from `offset`, which it has. Errors of reading name the place in the whole.
byte_region_ptr part_of(byte_region_ptr whole, std::uint64_t offset, std::uint64_t size);

}  // namespace troupe
