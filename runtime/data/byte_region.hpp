#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <troupe/messages/error.hpp>

namespace troupe {

/// The bytes of one file, in memory or mapped; immutable and shared by all tensors that view them.
class byte_region {
 public:
  byte_region() = default;
  byte_region(const byte_region&) = delete;
  byte_region& operator=(const byte_region&) = delete;
  virtual ~byte_region() = default;

  [[nodiscard]] virtual std::span<const std::uint8_t> bytes() const noexcept = 0;
  /// Whether the bytes are still those that were opened. To be asked before each read: a mapped file that was cut short
  /// kills the process (SIGBUS) when a lost page is touched. What happens between this answer and the read stays fatal.
  [[nodiscard]] virtual expected<void> check_unchanged() const = 0;
};

using byte_region_ptr = std::shared_ptr<const byte_region>;

/// Maps a regular file read-only, so that a stray write into a sample stops the process instead of changing the data.
/// Errors: missing E0301, empty E0306, a directory, device or unreadable E0307.
expected<byte_region_ptr> map_file(const std::string& path);

/// Bytes that were unpacked into memory.
byte_region_ptr own_bytes(std::unique_ptr<std::uint8_t[]> bytes, std::size_t size);

}  // namespace troupe
