#pragma once

#include <cstdint>
#include <memory>

#include "runtime/device/kernel_recorder.hpp"

namespace troupe::late {

/// Graphs on a late device. As with CUDA, they read and write the memory that they were recorded with; memory that was
/// freed meanwhile holds NaN again after each launch. A host that waits for the device while it records, and an event
/// that is recorded or asked, is an error.
[[nodiscard]] std::shared_ptr<kernel_recorder> make_kernel_recorder();
/// Of all graphs of this process so far.
[[nodiscard]] std::uint64_t launches();

}  // namespace troupe::late
