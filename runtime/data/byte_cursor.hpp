#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "messages/try.hpp"
#include "runtime/data/byte_region.hpp"

namespace troupe {

/// Reads a region byte by byte from an offset on, in blocks.
class byte_cursor {
 public:
  static constexpr std::size_t block_bytes = 64 << 10;

  byte_cursor(byte_region_ptr region, std::uint64_t offset) : region_(std::move(region)), next_(offset) {}

  [[nodiscard]] std::uint64_t offset() const noexcept { return next_ - block_.size() + at_; }
  /// Whether there is a byte: peek() and take() then give it. Errors: as byte_region::read.
  [[nodiscard]] expected<bool> fill() {
    if (at_ < block_.size()) return true;
    const std::uint64_t bytes = std::min<std::uint64_t>(block_bytes, region_->size() - next_);
    if (bytes == 0) return false;
    block_.resize(bytes);
    at_ = 0;
    TROUPE_TRY(region_->read(next_, block_));
    next_ += bytes;
    return true;
  }
  [[nodiscard]] char peek() const noexcept { return static_cast<char>(block_[at_]); }
  /// The bytes of the block from peek() on, and how to take some of them.
  [[nodiscard]] std::string_view rest() const noexcept {
    return {reinterpret_cast<const char*>(block_.data()) + at_, block_.size() - at_};
  }
  void skip(std::size_t bytes) noexcept { at_ += bytes; }
  char take() noexcept { return static_cast<char>(block_[at_++]); }

 private:
  byte_region_ptr region_;
  /// The place behind the block.
  std::uint64_t next_;
  std::vector<std::uint8_t> block_;
  std::size_t at_ = 0;
};

}  // namespace troupe
