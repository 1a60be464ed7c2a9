#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/edge/tcp/frame.hpp"

namespace troupe {

enum class decode_step : std::uint8_t {
  more,     ///< read into room() and tell arrived()
  head,     ///< head() is a frame; if payload_bytes() is not 0, payload_into() must be called next
  payload,  ///< the payload of head() is complete
};

enum class payload_check : std::uint8_t {
  of_checksums,
  none,  ///< only in mutation tests, which must then find a damaged payload
};

/// Frames out of a stream of bytes that comes in pieces of any size. Small frames gather in a buffer of fixed size;
/// the remaining bytes of a payload are read where they are to lie, and summed up as they arrive. Allocates nothing
/// unless it fails.
///
/// Order: while step() returns `more`, read into room(), arrived(n), step(); after `head` and `payload` step() again. A
/// payload is not to be trusted before step() has returned `payload` for it. After an error the stream is lost: do not
/// call anything again. Threads: one.
class frame_decoder {
 public:
  /// Frames that announce a larger payload are refused (E0701).
  explicit frame_decoder(std::uint64_t payload_bytes_max, payload_check check = payload_check::of_checksums)
      : check_(check), payload_bytes_max_(payload_bytes_max) {}
  /// From the next head on.
  void limit_payloads(std::uint64_t bytes) noexcept { payload_bytes_max_ = bytes; }

  /// Where the next bytes of the stream go; never empty when step() has returned `more`.
  [[nodiscard]] std::span<std::byte> room() noexcept;
  /// Bytes of the payload that have not arrived; 0 between two payloads.
  [[nodiscard]] std::size_t missing() const noexcept { return missing_.size(); }
  /// At most room().size().
  void arrived(std::size_t bytes) noexcept;

  /// Errors: as decode_prelude() and decode_head(); E0706 for a payload that does not match the checksum at its end.
  [[nodiscard]] expected<decode_step> step();

  [[nodiscard]] const frame& head() const noexcept { return head_; }
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }
  /// payload_bytes() bytes, which must stay until step() has returned `payload`.
  void payload_into(std::span<std::byte> place) noexcept;

 private:
  [[nodiscard]] std::span<const std::byte> buffered() const noexcept {
    return std::span(buffer_).subspan(begin_, end_ - begin_);
  }
  void consume(std::size_t bytes) noexcept;
  void sum_up(std::span<const std::byte> arrived) noexcept;
  expected<decode_step> read_head();
  expected<decode_step> end_payload();

  std::array<std::byte, limits::frame_buffer_bytes> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  const payload_check check_;
  std::uint64_t payload_bytes_max_;
  frame head_;
  std::uint64_t payload_bytes_ = 0;
  bool in_payload_ = false;
  std::span<std::byte> place_;
  std::span<std::byte> missing_;
  /// Bytes of the payload that its checksum covers and that have not arrived.
  std::uint64_t to_sum_up_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace troupe
