#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/device/device_context.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// By which another process of this host opens memory, or an event. It opens nothing after its maker's death.
using sharing_handle = std::array<std::byte, 64>;

/// Memory of a device that other processes can open.
struct shared_block {
  /// Aligned to limits::payload_alignment. The maker frees it, and another process closes it, with the last owner.
  std::shared_ptr<std::byte> memory;
  std::uint64_t bytes = 0;
  sharing_handle handle{};
};

/// Memory of a device that was allocated at once, by whatever means.
struct device_allocation {
  const std::byte* base = nullptr;
  std::uint64_t bytes = 0;
};

/// An event that other processes can open. It stands for its newest record; before the first one it has passed.
class shared_event : public context_event {
 public:
  /// The stream is of the device that made the event.
  [[nodiscard]] virtual expected<void> record_on(context_stream& stream) = 0;
  [[nodiscard]] virtual const sharing_handle& handle() const noexcept = 0;
};

/// What processes of one host share of devices that reach each other's memory. Threads: any, after
/// device_context::enter_thread().
class device_sharing {
 public:
  device_sharing() = default;
  device_sharing(const device_sharing&) = delete;
  device_sharing& operator=(const device_sharing&) = delete;
  virtual ~device_sharing() = default;

  /// At least `bytes`, not set; whole pages of the device, so that nothing else is shared. As
  /// device_context::allocate(). It is freed after all others have closed it, or their processes have ended.
  [[nodiscard]] virtual expected<shared_block> allocate(std::size_t bytes) = 0;
  [[nodiscard]] virtual expected<std::unique_ptr<shared_event>> make_event() = 0;

  /// The allocation that has `at` in it. The device itself is not asked, so this takes no time. E0902 for other memory.
  [[nodiscard]] virtual expected<device_allocation> allocation_of(const std::byte* at) = 0;
  /// By which others open the allocation that begins at `base`, as a whole. It must not be freed while one of them has
  /// it open. E0902 for one that cannot be shared: it is no whole pages, or was opened itself.
  [[nodiscard]] virtual expected<sharing_handle> share(const std::byte* base) = 0;

  /// Opens memory of another process; the device says `bytes`, not the peer. E0902 for a handle that opens nothing.
  [[nodiscard]] virtual expected<shared_block> open_memory(const sharing_handle& handle) = 0;
  [[nodiscard]] virtual expected<std::shared_ptr<context_event>> open_event(const sharing_handle& handle) = 0;
};

}  // namespace troupe
