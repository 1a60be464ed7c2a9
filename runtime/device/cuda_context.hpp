#pragma once

#include <memory>

#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/device/device_context.hpp"

namespace troupe {

/// The device of that number by the driver alone, so that no CUDA runtime is needed. It holds the primary context,
/// which LibTorch and NCCL use, too. E0902 in the driver's words; a number that the driver does not list is the
/// caller's fault.
[[nodiscard]] expected<std::shared_ptr<device_context>> cuda_context_of(const cuda_driver& driver, int ordinal);

}  // namespace troupe
