#include "gpu_findings.hpp"

#include "runtime/cuda/nccl_library.hpp"

namespace troupe::cli {

gpu_findings find_gpus() {
  const auto driver = cuda_driver::load();
  const auto nccl = nccl_library::load();
  return {.cuda_runtime = cuda_runtime_version(),
          .cuda_driver = driver.map([](const cuda_driver& found) { return found.version_text(); }),
          .cuda_devices = driver ? driver->devices() : std::vector<cuda_device_info>{},
          .nccl = nccl.map([](const nccl_library& found) { return found.version_text(); })};
}

}  // namespace troupe::cli
