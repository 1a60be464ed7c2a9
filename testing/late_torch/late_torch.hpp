#pragma once

#include <cstdint>

#include <c10/core/Device.h>

namespace troupe::late {

/// Registers two devices with LibTorch that behave like GPUs and need none. They have memory, streams, events and
/// pinned host memory as a GPU has, and compute with LibTorch's kernels for the CPU. Their streams run late
/// (late_streams): the work that is given to a stream is done some time after the call has returned, and in the order
/// of the stream.
///
/// The devices find code that does not wait as it has to. Fresh memory holds NaN, and so does freed memory as soon as
/// its stream has done all work that was given before the memory was freed. So a read before the event that says that
/// the data is there, or after the memory was freed, gives wrong numbers. Has an effect once in a process. Threads:
/// any.
void register_late_torch();

[[nodiscard]] inline c10::Device late_device(c10::DeviceIndex index = 0) {
  return {c10::DeviceType::PrivateUse1, index};
}

/// From now on every question whether an event has passed returns an error, as after a fault in a kernel of a GPU.
void fail_device();

struct late_counts {
  /// Memory of the devices that is in use.
  std::int64_t bytes = 0;
  /// How often the host has waited for a stream.
  std::uint64_t synchronizations = 0;
  /// How many graphs were launched.
  std::uint64_t launches = 0;
};
[[nodiscard]] late_counts counts();

}  // namespace troupe::late
