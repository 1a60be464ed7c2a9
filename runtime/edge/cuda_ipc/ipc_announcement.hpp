#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/device/device_sharing.hpp"
#include "runtime/edge/nccl/announcement.hpp"
#include "runtime/edge/payload_codec.hpp"

/// What the producer tells the consumer of a message in the place of its tensors (docs/edges.md).
namespace troupe::ipc {

/// In memory of the producer that `memory` opens.
struct spot {
  sharing_handle memory{};
  /// From the start of that memory: a multiple of limits::payload_alignment.
  std::uint64_t offset = 0;
  friend bool operator==(const spot&, const spot&) = default;
};

/// Where the tensors lie.
struct place {
  /// The flush before this message, as call + 1; 0: none.
  std::uint64_t flushed_before = 0;
  /// Number of the ring's block, from 1. A block with a greater number takes the place of all before. 0: the tensors
  /// are lent, and lie where the stage made them; there is no event.
  std::uint64_t block = 0;
  std::uint64_t slot = 0;
  /// It passes when the tensors are there.
  sharing_handle event{};
  /// Lent: for each extent, in an allocation. Else the first one alone is set: the slot, in its block, with one extent
  /// behind the other, each at a multiple of limits::payload_alignment.
  std::vector<spot> spots;
};

class announcement final : public payload {
 public:
  explicit announcement(std::shared_ptr<const nccl::announcement> said, std::shared_ptr<const void> kept = nullptr)
      : tensors(std::move(said)), owner(std::move(kept)) {}
  place where;
  /// Not null.
  const std::shared_ptr<const nccl::announcement> tensors;
  /// The owner of an announcement that has arrived, as the announcing edge gave it to the codec.
  const std::shared_ptr<const void> owner;
};

/// Reads and writes announcements, and leaves all other payloads (labels) to `others`. What it reads is bounded before
/// memory is allocated; what `place` says is unchecked.
[[nodiscard]] std::shared_ptr<const payload_codec> announcing_codec(std::shared_ptr<const payload_codec> others);

}  // namespace troupe::ipc
