#pragma once

#include <cstdint>
#include <span>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>

#include "messages/activation.hpp"

namespace troupe {

/// Has LibTorch make large outputs of a stage in one allocation of its device, so that they can be lent to another
/// process (lent_memory.hpp). By itself it gives each tensor of 10 MiB and more an allocation of that size.
///
/// What LibTorch has in its cache is given back, and one allocation takes its place, with room for what a forward needs
/// and for limits::ipc_reserved_outputs outputs. LibTorch takes the smallest free place where a tensor fits, and finds
/// it there. Where memory is short, or the device has no such cache, nothing is changed. Threads: one, with the stage's
/// stream as its current one.
class output_reserve {
 public:
  /// Before the stage's first forward.
  explicit output_reserve(c10::Device device);
  /// After it, once. The host waits for the device where it has large outputs.
  void reserve(std::span<const activation> outputs) const;

 private:
  [[nodiscard]] std::int64_t bytes_of_forward() const;

  const c10::Device device_;
  /// Null where the device has no cache that can be emptied.
  c10::DeviceAllocator* const cache_;
  std::int64_t before_ = 0;
};

}  // namespace troupe
