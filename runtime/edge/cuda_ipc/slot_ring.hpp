#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"
#include "runtime/edge/cuda_ipc/ipc_tools.hpp"
#include "runtime/edge/cuda_ipc/lent_memory.hpp"

namespace troupe::ipc {

/// The slots of the producer. A message stays where it is if its memory can be lent to the consumer. Other messages are
/// copied into a block of memory of the device, which has room for one message per slot and is allocated for the first
/// such message.
///
/// If a message is larger than a slot, a new block with larger slots is allocated, for this message and all later ones.
/// The old block is freed when two things are true: all messages in it have come back, and a message of the new block
/// has come back, which shows that the consumer does not have the old block open any more. Threads: one at a time.
class slot_ring {
 public:
  [[nodiscard]] static expected<std::shared_ptr<slot_ring>> make(std::shared_ptr<const ipc_tools> tools,
                                                                 std::uint32_t slots);

  /// The consumer has released the last message in this slot, if there was one.
  void came_back(std::uint32_t slot) noexcept;
  /// Lends the parts or begins to copy them to `slot`, which is free, and returns where the consumer finds them. The
  /// device has finished its work on the parts. `room` is their nccl::room_of().
  /// Throws std::runtime_error if the device has no memory for them, or has failed.
  [[nodiscard]] place fill(std::uint32_t slot, const device_parts& parts, std::uint64_t room);
  /// The filled slot was announced to the consumer, and will come back.
  void was_sent(const place& where) noexcept { slots_[where.slot].block = where.block; }

  /// Drops the sources of all copies that are done.
  void drop_copied() noexcept;
  /// No copy is under way.
  [[nodiscard]] bool is_quiet() const noexcept;
  /// Nothing has been sent yet.
  [[nodiscard]] bool is_empty() const noexcept { return blocks_.empty() && lent_.is_empty(); }
  /// The bytes of device memory that the blocks take now.
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
    /// The number of the block that holds the message of this slot. 0: the slot has no message, or it is a lent one.
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
  /// In the order of their numbers. New messages use the last one.
  std::deque<block> blocks_;
  std::uint64_t numbers_ = 0;
  /// The greatest number of a block of which a message has come back.
  std::uint64_t known_ = 0;
};

}  // namespace troupe::ipc
