#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"
#include "runtime/edge/cuda_ipc/ipc_tools.hpp"
#include "runtime/edge/cuda_ipc/lent_memory.hpp"

namespace troupe::ipc {

/// The producer's slots. A message stays where it is if it can be lent; others are copied to memory of the device: one
/// block for all slots, that takes its memory with the first such message. A message that is larger than a slot gets a
/// new block, with larger slots, which all later messages use; the old one is freed when its last message has come
/// back, and one of the new block has: the consumer has closed it then. Threads: one at a time.
class slot_ring {
 public:
  [[nodiscard]] static expected<std::shared_ptr<slot_ring>> make(std::shared_ptr<const ipc_tools> tools,
                                                                 std::uint32_t slots);

  /// The last message in this slot, if there was one, has come back.
  void came_back(std::uint32_t slot) noexcept;
  /// Lends the parts, which are finished, or copies them to a free slot some time later; says where they are then.
  /// `room` is nccl::room_of() of them.
  /// Throws std::runtime_error where the device has no memory for them, or has failed.
  [[nodiscard]] place fill(std::uint32_t slot, const device_parts& parts, std::uint64_t room);
  /// What was filled is on its way: it will come back.
  void was_sent(const place& where) noexcept { slots_[where.slot].block = where.block; }

  /// Drops what has been copied by now.
  void drop_copied() noexcept;
  /// No copy is under way.
  [[nodiscard]] bool is_quiet() const noexcept;
  /// Nothing has been sent yet.
  [[nodiscard]] bool is_empty() const noexcept { return blocks_.empty() && lent_.is_empty(); }
  /// Bytes of the device that the blocks take now.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct block {
    std::uint64_t number;
    std::uint64_t slot_bytes;
    shared_block memory;
  };
  struct slot_state {
    /// Passes when the last copy to this slot is done.
    std::unique_ptr<shared_event> filled;
    /// The source of the copy.
    std::shared_ptr<const void> source;
    /// The block of the message that is on its way; 0: none, or it is lent.
    std::uint64_t block = 0;
  };
  slot_ring(std::shared_ptr<const ipc_tools> tools, std::unique_ptr<context_stream> stream, std::uint32_t slots)
      : tools_(std::move(tools)), stream_(std::move(stream)), lent_(tools_, slots), slots_(slots) {}
  [[nodiscard]] place copy(std::uint32_t slot, const device_parts& parts, std::uint64_t room);
  void grow(std::uint64_t room);
  [[nodiscard]] bool is_in_use(const block& old) const noexcept;

  const std::shared_ptr<const ipc_tools> tools_;
  const std::unique_ptr<context_stream> stream_;
  lent_memory lent_;
  std::vector<slot_state> slots_;
  /// By number; the last one is that of new messages.
  std::deque<block> blocks_;
  std::uint64_t numbers_ = 0;
  /// The greatest number of which a message has come back.
  std::uint64_t known_ = 0;
};

}  // namespace troupe::ipc
