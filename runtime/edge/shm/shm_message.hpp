#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "messages/activation.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/shm/shm_layout.hpp"
#include <troupe/error.hpp>

/// An activation as the bytes of a slot.
namespace troupe::shm {

/// Where the parts of a message lie in its extent, each from a multiple of limits::payload_alignment on; rows at 0.
struct message_layout {
  std::uint64_t tensors_at = 0;
  std::uint64_t labels_at = 0;
  std::uint64_t end = 0;
};
/// The layout by a header's row_count, tensors_bytes and labels_bytes; nothing if a part alone, or all together, are
/// beyond limits::shm_slot_bytes_max.
[[nodiscard]] std::optional<message_layout> lay_out(const message_header& header) noexcept;

/// All but what the edge adds: position, flush, slot and extent.
[[nodiscard]] message_header header_of(const activation& message, const payload_codec& codec);

/// Fills the slot; `room` has the layout's `end` bytes.
void write_parts(const activation& message, const message_header& header, const message_layout& parts,
                 const payload_codec& codec, std::span<std::byte> room);

/// Ids, samples and rows of a message from an untrusted peer, without its payloads. `room` has the layout's `end`
/// bytes.
[[nodiscard]] expected<activation> read_head(const message_header& header, std::span<const std::byte> room);

/// What message_header::checksum should be. `room` has the layout's `end` bytes.
[[nodiscard]] std::uint64_t checksum_of(const message_header& header, std::span<const std::byte> room) noexcept;

[[nodiscard]] tl::unexpected<error> nonsense(std::string cause);

}  // namespace troupe::shm
