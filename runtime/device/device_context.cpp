#include "runtime/device/device_context.hpp"

namespace troupe {

expected<std::shared_ptr<device_sharing>> device_context::sharing() {
  return fail(error_code::device_unavailable, "cuda_ipc", "this device shares nothing with other processes",
              "Use --transport shm");
}

}  // namespace troupe
