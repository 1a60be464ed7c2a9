#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/os/shared_memory.hpp"

namespace troupe::shm {

/// Where a slot's bytes lie in the memory.
struct extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const extent&, const extent&) = default;
};

/// The producer's side of the slots: gives each the room that its next message needs. A slot that was large enough once
/// takes no memory and no system call any more.
class slot_extents {
 public:
  /// New extents lie behind what the memory has now.
  slot_extents(shared_memory memory, std::uint32_t slots, std::uint64_t file_bytes);

  /// Room for `bytes` in an unused slot; its content is lost. A slot that is too small gets a new extent, a
  /// power of two in size, and gives the memory of the old one back. Throws std::runtime_error, with the slot's size
  /// and the limit in it, where the system has no memory or `bytes` is beyond limits::shm_slot_bytes_max; the slot
  /// stays usable.
  [[nodiscard]] std::span<std::byte> reserve(std::uint32_t slot, std::uint64_t bytes);

  /// The place of a slot that has had room reserved.
  [[nodiscard]] const extent& where(std::uint32_t slot) const noexcept { return reserved_[slot].place; }

 private:
  struct reservation {
    extent place;
    std::uint64_t committed = 0;
    memory_mapping pages;
  };

  void renew(reservation& old, std::uint64_t bytes);
  void commit(reservation& grown, std::uint64_t bytes);

  shared_memory memory_;
  std::uint64_t file_bytes_;
  std::vector<reservation> reserved_;
};

/// The consumer's side: the pages of each slot's present extent.
class slot_views {
 public:
  slot_views(shared_memory memory, std::uint32_t slots, std::uint64_t extents_at);

  /// The pages of a slot's extent, mapped if they are not yet. Pages of a former extent stay mapped while they have an
  /// owner. Errors: E0702 for an extent that no producer gives, E0614.
  [[nodiscard]] expected<std::shared_ptr<const memory_mapping>> pages(std::uint32_t slot, const extent& place);

 private:
  struct view {
    extent place;
    std::shared_ptr<const memory_mapping> pages;
  };

  shared_memory memory_;
  std::uint64_t extents_at_;
  std::vector<view> views_;
};

}  // namespace troupe::shm
