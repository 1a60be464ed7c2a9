#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

#include "runtime/device/device_name.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The device that place_stage() gives the stage, ready for LibTorch in this process: CUDA's kernels are loaded
/// (load_torch_cuda()), an extension is one that the program made known to LibTorch. E0110; E0901 where the driver is
/// there and LibTorch's kernels are not. Threads: any.
[[nodiscard]] expected<c10::Device> torch_device(const device_name& asked, const std::string& stage,
                                                 std::uint32_t index);

}  // namespace troupe
