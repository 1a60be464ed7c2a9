#pragma once

#include "runtime/cuda/cuda_driver.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Whether each of two devices of this process can have the other one's memory at its own addresses: an edge over
/// cuda_ipc can be between them. A device and itself: true. E0902 in the driver's words.
[[nodiscard]] expected<bool> reach_each_other(const cuda_driver& driver, int one, int other);

}  // namespace troupe
