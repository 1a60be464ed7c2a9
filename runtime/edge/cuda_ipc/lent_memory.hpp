#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"
#include "runtime/edge/cuda_ipc/ipc_tools.hpp"

namespace troupe::ipc {

/// Messages that the consumer reads where the stage made them, without a copy. Each stays alive until its slot is used
/// again. Threads: one at a time.
///
/// The consumer opens whole allocations, with all that is in them, and keeps them open, since opening takes longer than
/// a copy. None of them may be freed meanwhile: the newest part in each stays alive as long as this object. Where a
/// message takes no more than half of an allocation, newer ones find room there and take its place. Where it takes
/// more, that allocation is lost to the stage: only so many are lent as make it use another one (output_reserve.hpp).
class lent_memory {
 public:
  lent_memory(std::shared_ptr<const ipc_tools> tools, std::uint32_t slots)
      : tools_(std::move(tools)), on_their_way_(slots) {}

  /// A spot for each part. Nothing where they must be copied: one begins at no multiple of limits::payload_alignment,
  /// the device cannot share it, or the consumer would have more than limits::ipc_lent_allocations_max allocations
  /// open, or more than limits::ipc_full_allocations_max of those that one message takes more than half of. The parts
  /// are finished.
  [[nodiscard]] std::optional<std::vector<spot>> lend(std::uint32_t slot, const device_parts& parts);
  /// The last message in this slot has come back.
  void came_back(std::uint32_t slot) noexcept { on_their_way_[slot].reset(); }
  /// Nothing has been lent yet.
  [[nodiscard]] bool is_empty() const noexcept { return allocations_.empty(); }

 private:
  struct allocation {
    const std::byte* base;
    sharing_handle handle;
    /// A message took more than half.
    bool is_full;
    /// Null only within lend().
    std::shared_ptr<const void> newest;
  };
  /// Where a part is.
  struct located {
    const std::byte* base;
    std::uint64_t offset;
    /// Those of the message in this allocation take more than half of that.
    bool fills_it;
  };
  [[nodiscard]] std::optional<std::vector<located>> locate(const device_parts& parts) const;
  [[nodiscard]] allocation* find(const located& part);

  const std::shared_ptr<const ipc_tools> tools_;
  /// The owner of the message in each slot.
  std::vector<std::shared_ptr<const void>> on_their_way_;
  std::vector<allocation> allocations_;
};

}  // namespace troupe::ipc
