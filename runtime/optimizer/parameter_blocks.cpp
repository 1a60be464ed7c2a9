#include "runtime/optimizer/parameter_blocks.hpp"

namespace troupe {

std::vector<parameter_block> blocks_of(const std::vector<stored_tensor>& tensors) {
  std::vector<parameter_block> blocks;
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    const stored_tensor& parameter = tensors[index];
    const std::uint64_t size = c10::elementSize(parameter.type);
    for (std::uint64_t begin = 0; begin < parameter.elements; begin += parameter_block::elements_max) {
      blocks.push_back(
          {.parameter = index,
           .offset = parameter.offset + begin * size,
           .elements = static_cast<std::int64_t>(std::min(parameter_block::elements_max, parameter.elements - begin))});
    }
  }
  return blocks;
}

}  // namespace troupe
