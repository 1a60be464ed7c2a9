#pragma once

#include <c10/core/Device.h>

namespace troupe {

/// Makes a graph of a tiny model and runs it, so that LibTorch has done what it does at its first use only: operators
/// are registered, passes set up, kernels chosen and generated. Takes some 50 ms the first time. Any thread; starts
/// none, and never fails.
void warm_up_libtorch();

/// The same on a device, whose context is made in this process: a few tenths of a second, and some hundred MiB of the
/// device. LibTorch knows the device.
void use_device_once(c10::Device device);

}  // namespace troupe
