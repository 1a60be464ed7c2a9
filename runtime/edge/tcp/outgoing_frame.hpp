#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/edge/gathered_bytes.hpp"
#include "runtime/edge/tcp/frame.hpp"

namespace troupe {

/// One frame on its way to a socket, in chunks of at most limits::tcp_chunk_bytes. A payload is sent from where it
/// lies, and summed up chunk by chunk, so that its bytes come from memory once. Kept from one frame to the next;
/// allocates nothing once it has grown.
///
/// Order: begin(); then body(), if the payload is not one piece; then chunk() and sent() until is_done(). Threads: one.
class outgoing_frame {
 public:
  using pieces = std::span<const std::span<const std::byte>>;

  /// `payload` must stay as it is until the frame is done.
  void begin(const frame& value, std::span<const std::byte> payload = {});
  /// For a payload of several pieces: all but the checksum, which follows by itself. As many bytes as the frame says.
  [[nodiscard]] gathered_bytes& body() noexcept { return body_; }

  /// What comes next; empty only if the frame is done. Valid until the next call here.
  [[nodiscard]] pieces chunk();
  /// So many bytes of the latest chunk are sent: the next one begins behind them.
  void sent(std::size_t bytes) noexcept;
  [[nodiscard]] bool is_done() const noexcept { return sent_ == bytes_; }
  [[nodiscard]] std::uint64_t bytes_left() const noexcept { return bytes_ - sent_; }

 private:
  [[nodiscard]] std::size_t parts() const noexcept { return body_.pieces().size() + 2; }
  [[nodiscard]] std::span<const std::byte> part(std::size_t index) const noexcept;
  void sum_up(std::span<const std::byte> bytes, std::uint64_t at) noexcept;
  void end_checksum() noexcept;

  frame_head_bytes head_;
  gathered_bytes body_;
  std::array<std::byte, payload_checksum_bytes> checksum_{};
  std::size_t checksum_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t sent_ = 0;
  /// Where the next chunk begins.
  std::size_t part_ = 0;
  std::size_t offset_ = 0;
  /// Bytes of the frame up to which the checksum is known.
  std::uint64_t summed_ = 0;
  std::uint32_t crc_ = 0;
  std::array<std::span<const std::byte>, limits::tcp_chunk_pieces_max> chunk_;
};

}  // namespace troupe
