#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/data/byte_region.hpp"

namespace troupe {

/// The fix of every error of a file whose bytes are damaged.
inline constexpr const char* fetch_again = "fetch the file again";

/// Unpacks a gzip file (RFC 1952, one or more members) front to back, never more than it is asked for: what a reader of
/// a format with a header needs in order not to trust a file that claims to be small. Not thread-safe.
class gzip_reader {
 public:
  /// `path` is what errors name.
  gzip_reader(std::string path, byte_region_ptr packed);
  ~gzip_reader();
  gzip_reader(const gzip_reader&) = delete;
  gzip_reader& operator=(const gzip_reader&) = delete;

  /// Whether a gzip member may begin at that byte.
  [[nodiscard]] static expected<bool> looks_packed(const byte_region& bytes, std::uint64_t offset);

  /// Fills `into` and says how many bytes it got: fewer only at the end, whose checksum and length were then verified.
  /// Errors: as byte_region::read; the packed data end in the middle (E0302), are damaged or followed by something else
  /// (E0303).
  [[nodiscard]] expected<std::size_t> read(std::span<std::uint8_t> into);

  /// Bytes unpacked so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

  /// Deflate never packs more than 1032 bytes into one: no more than this can come out of `packed_bytes`.
  static std::uint64_t unpacked_bytes_max(std::uint64_t packed_bytes) noexcept { return packed_bytes * 1032 + 1032; }

 private:
  struct stream;
  enum class phase : std::uint8_t { inside_member, ended };

  /// One call of zlib; how many bytes it produced.
  expected<std::size_t> step(std::span<std::uint8_t> into);
  expected<void> end_member();
  /// Gives zlib the next block where it has nothing left.
  expected<void> refill();
  /// Packed bytes that zlib has not used.
  [[nodiscard]] std::uint64_t packed_left() const noexcept;
  [[nodiscard]] std::string here() const;

  std::string path_;
  byte_region_ptr packed_;
  std::uint64_t position_ = 0;
  phase phase_ = phase::inside_member;
  std::unique_ptr<stream> stream_;
};

}  // namespace troupe
