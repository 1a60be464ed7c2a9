#include <troupe/pipeline_module.hpp>

namespace troupe {

expected<module_shape> shape_of(const pipeline_module& module, std::uint32_t replicas) {
  if (!module.topology) return module_shape{module.num_stages, replicas};
  module_shape shape;
  for (const topology_axis& axis : module.topology->axes()) {
    if (axis.name == "pipe") {
      shape.stages = static_cast<std::uint32_t>(axis.size);
    } else if (axis.name == "data") {
      shape.replicas = static_cast<std::uint32_t>(axis.size);
    } else if (axis.size != 1) {
      return fail(error_code::topology_invalid, "pipeline_module",
                  "axis \"" + axis.name + "\" of the topology has " + std::to_string(axis.size) +
                      " ranks, and layers are not cut along it",
                  "use the axes pipe and data");
    }
  }
  return shape;
}

}  // namespace troupe
