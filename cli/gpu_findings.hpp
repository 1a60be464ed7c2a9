#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/cuda_driver.hpp"
#include <troupe/error.hpp>

namespace troupe::cli {

/// The libraries for GPUs that this process can load: their versions, or why not.
struct gpu_findings {
  expected<std::string> cuda_runtime;
  expected<std::string> cuda_driver;
  std::vector<cuda_device_info> cuda_devices;
  expected<std::string> nccl;
};

/// Loads them, which takes some milliseconds, and starts the driver where there is one.
gpu_findings find_gpus();

}  // namespace troupe::cli
