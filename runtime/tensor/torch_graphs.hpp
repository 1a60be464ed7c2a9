#pragma once

#include <memory>

#include <c10/core/Device.h>

#include "runtime/device/kernel_recorder.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Records LibTorch's kernels on a device that torch_device() gave: as CUDA graphs, or as the graphs that the extension
/// device has. E0110 where that device has none; E0901 for a LibTorch of another version.
[[nodiscard]] expected<std::shared_ptr<kernel_recorder>> kernel_recorder_of(c10::Device device);

}  // namespace troupe
