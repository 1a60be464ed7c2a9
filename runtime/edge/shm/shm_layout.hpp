#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "messages/limits.hpp"

/// What lies where in the memory of a shm edge, to the byte (docs/edges.md: why). Both ends are programs of
/// the same version on the same host: native byte order. All words are lock-free atomics; each is written by the side
/// it is named after.
namespace troupe::shm {

inline constexpr std::uint64_t magic = 0x3145'4744'4550'5254;  // "TRPEDGE1"
inline constexpr std::uint32_t version = 3;

/// Written once, before a descriptor of the memory leaves its maker.
struct alignas(64) identity {
  std::uint64_t magic = shm::magic;
  std::uint32_t version = shm::version;
  std::uint32_t slots = 0;
  std::uint32_t credits_per_ring = 1;
};

/// Counts grow for ever. A flush travels as call + 1, so that 0 says "none yet".
struct control {
  identity id;
  alignas(64) std::atomic<std::uint64_t> sent{0};  // producer
  std::atomic<std::uint64_t> flushed{0};
  alignas(64) std::atomic<std::uint64_t> released{0};         // consumer, any of its threads
  alignas(64) std::atomic<std::uint32_t> producer_closed{0};  // lines of their own: read often, written once
  alignas(64) std::atomic<std::uint32_t> consumer_closed{0};
  alignas(64) std::array<std::byte, 192> reserved{};
};
static_assert(sizeof(control) == 512);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// `bytes` or `count` of what a message does not have: a null payload, null rows.
inline constexpr std::uint64_t absent = ~std::uint64_t{0};

/// A message but for its rows and payloads. These lie in the slot's extent, each from a multiple of
/// limits::payload_alignment on: rows (uint32 each), tensors, labels.
struct message_header {
  std::uint64_t position = 0;  ///< messages sent before this one on the edge
  std::uint64_t flushed_before = 0;
  std::uint64_t call = 0;
  std::uint64_t index = 0;
  std::uint64_t samples_begin = 0;
  std::uint64_t samples_end = 0;
  std::uint64_t slot = 0;
  std::uint64_t extent_offset = 0;  ///< from the start of the memory; 0 for a message without bytes
  std::uint64_t extent_bytes = 0;
  std::uint64_t row_count = absent;
  std::uint64_t tensors_bytes = absent;
  std::uint64_t labels_bytes = absent;
  std::uint64_t checksum = absent;  ///< CRC32C of the other words and of all bytes of the parts
  std::array<std::uint64_t, 3> reserved{};
};
static_assert(sizeof(message_header) == 128);

/// A header where both processes see it. Of atomics, so that it can be read once and then judged, whatever a damaged
/// peer writes meanwhile.
class alignas(64) shared_header {
 public:
  void store(const message_header& header) noexcept {
    const auto words = std::bit_cast<std::array<std::uint64_t, 16>>(header);
    for (std::size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_relaxed);
  }
  [[nodiscard]] message_header load() const noexcept {
    std::array<std::uint64_t, 16> words{};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_relaxed);
    return std::bit_cast<message_header>(words);
  }
  [[nodiscard]] std::uint64_t flushed_before() const noexcept { return words_[1].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, 16> words_{};
};
static_assert(sizeof(shared_header) == sizeof(message_header));

/// control | shared_header[slots] | freed[slots] (the consumer's: 1 + position of the message last freed there) |
/// extents, from the next multiple of limits::shm_extent_bytes_min on.
[[nodiscard]] constexpr std::uint64_t headers_at() noexcept {
  return sizeof(control);
}
[[nodiscard]] constexpr std::uint64_t freed_at(std::uint32_t slots) noexcept {
  return headers_at() + std::uint64_t{slots} * sizeof(shared_header);
}
[[nodiscard]] constexpr std::uint64_t control_bytes(std::uint32_t slots) noexcept {
  return freed_at(slots) + std::uint64_t{slots} * sizeof(std::uint64_t);
}
[[nodiscard]] constexpr std::uint64_t extents_at(std::uint32_t slots) noexcept {
  constexpr std::uint64_t unit = limits::shm_extent_bytes_min;
  return (control_bytes(slots) + unit - 1) / unit * unit;
}

}  // namespace troupe::shm
