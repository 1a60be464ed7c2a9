#include "runtime/edge/nccl/nccl_tools.hpp"

namespace troupe::nccl {

error failed(const nccl::functions& library, const std::string& what, nccl::result how) {
  std::string cause = what + ": " + library.get_error_string(how);
  const char* const more = library.get_last_error != nullptr ? library.get_last_error(nullptr) : nullptr;
  if (more != nullptr && *more != '\0') cause += std::string(" (") + more + ")";
  return {error_code::peer_lost, "nccl edge", std::move(cause), "Set NCCL_DEBUG=WARN to see what NCCL says"};
}

error late(const std::string& what, std::chrono::milliseconds limit) {
  return {error_code::peer_lost, "nccl edge", what + " has not ended within " + std::to_string(limit.count()) + " ms",
          "Set NCCL_DEBUG=WARN to see what NCCL says"};
}

}  // namespace troupe::nccl
