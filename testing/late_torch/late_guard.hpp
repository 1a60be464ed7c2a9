#pragma once

#include <c10/core/Stream.h>

namespace troupe::late {

/// Of the calling thread, on its current device.
[[nodiscard]] c10::Stream current_stream();

/// Makes streams and events of the device known to LibTorch. Once.
void register_guard();

}  // namespace troupe::late
