#pragma once

#include <cstdint>
#include <span>

#include "runtime/edge/shm/shm_layout.hpp"
#include "runtime/os/shared_memory.hpp"

namespace troupe::shm {

/// The control part of an edge's memory, mapped. What does not change is copied when it is opened: a damaged peer
/// cannot change the number of slots afterwards.
class control_view {
 public:
  /// Writes the control part of new memory that has room for it. 1 to limits::pipe_buffers_max slots.
  [[nodiscard]] static expected<control_view> create(shared_memory& memory, std::uint32_t slots,
                                                     std::uint32_t credits_per_ring);
  /// Checks magic, version, counts and size. Errors: E0614, E0702, E0703.
  [[nodiscard]] static expected<control_view> open(const shared_memory& memory);

  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  /// At most `slots`.
  [[nodiscard]] std::uint32_t credits_per_ring() const noexcept { return credits_per_ring_; }

  [[nodiscard]] control& words() const noexcept { return *words_; }
  /// Where the header of the message at `position` goes.
  [[nodiscard]] shared_header& header(std::uint64_t position) const noexcept { return headers_[position % slots_]; }
  [[nodiscard]] std::atomic<std::uint64_t>& freed(std::uint32_t slot) const noexcept { return freed_[slot]; }

 private:
  control_view(memory_mapping pages, std::uint32_t slots, std::uint32_t credits_per_ring) noexcept;

  memory_mapping pages_;
  std::uint32_t slots_;
  std::uint32_t credits_per_ring_;
  control* words_;
  std::span<shared_header> headers_;
  std::span<std::atomic<std::uint64_t>> freed_;
};

}  // namespace troupe::shm
