#include "runtime/wiring/edge_depths.hpp"

#include <algorithm>

namespace troupe {

std::uint32_t prefetch_slots_for(std::uint64_t micro_batch_bytes) {
  if (micro_batch_bytes == 0) return limits::prefetch_slots;
  const std::uint64_t fit = limits::prefetch_bytes / micro_batch_bytes;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, limits::prefetch_slots));
}

std::uint32_t stage_slots_for(std::uint64_t activation_bytes) {
  if (activation_bytes == 0) return limits::pipe_buffers_default;
  const std::uint64_t fit = limits::stage_edge_bytes / activation_bytes;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(fit, limits::pipe_buffers_default, limits::stage_edge_slots));
}

}  // namespace troupe
