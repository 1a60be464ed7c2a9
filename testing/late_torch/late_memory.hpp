#pragma once

#include <cstdint>

#include <c10/core/Allocator.h>

namespace troupe::late {

/// Memory of the device, filled with NaN, and again in the order of the stream that it was allocated on when it is
/// freed.
[[nodiscard]] c10::Allocator& device_memory();
/// Memory of the host, aligned as the host's own.
[[nodiscard]] c10::Allocator& pinned_memory();
[[nodiscard]] bool is_pinned(const void* place);
[[nodiscard]] std::int64_t bytes_in_use();

}  // namespace troupe::late
