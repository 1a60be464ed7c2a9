#pragma once

#include <cstdint>

#include <c10/core/Device.h>

namespace troupe::late {

/// Makes a device of our own known to LibTorch, as its extension device: memory, streams, events and pinned memory of
/// the host as of a GPU, kernels of the CPU, and streams that run late (late_streams). Fresh memory holds NaN, and
/// memory that is freed holds it again once its stream has come so far: data read before its event, or after its end,
/// shows as wrong numbers. Once in a process; two devices. Threads: any.
void register_late_torch();

[[nodiscard]] inline c10::Device late_device(c10::DeviceIndex index = 0) {
  return {c10::DeviceType::PrivateUse1, index};
}

/// Every event asked from now on is an error, as after a fault of a kernel.
void fail_device();

/// Bytes of its memory in use, how often a host waited for it, and launches of graphs.
struct late_counts {
  std::int64_t bytes = 0;
  std::uint64_t synchronizations = 0;
  std::uint64_t launches = 0;
};
[[nodiscard]] late_counts counts();

}  // namespace troupe::late
