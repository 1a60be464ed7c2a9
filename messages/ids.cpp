#include <troupe/ids.hpp>

namespace troupe {

std::string to_string(micro_batch_id id) {
  return "call " + std::to_string(id.call) + ", micro-batch " + std::to_string(id.index);
}

}  // namespace troupe
