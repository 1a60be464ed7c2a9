#include "runtime/tensor/torch_graphs.hpp"

#include "runtime/device/extension_device.hpp"
#include "runtime/tensor/cuda_graphs.hpp"

namespace troupe {

expected<std::shared_ptr<kernel_recorder>> kernel_recorder_of(c10::Device device) {
  if (device.is_cuda()) return cuda_graph_recorder();
  if (const extension_device extension = get_extension_device(); extension.graphs)
    return extension.graphs(device.index());
  return fail(error_code::device_unavailable, device.str(), "it records no graphs", "leave cuda_graphs out");
}

}  // namespace troupe
