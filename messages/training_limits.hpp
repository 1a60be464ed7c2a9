#pragma once

#include <cstdint>

/// Those of limits.hpp that are about training.
namespace troupe::limits {

inline constexpr std::uint64_t step_micro_batches_max = 1u << 16;
/// So often in a row a training may lose states without a step between: each time a host is gone.
inline constexpr std::uint32_t state_losses_max = 16;
/// Of the batches since the last copy; beyond it there is another copy.
inline constexpr std::uint64_t protected_batch_bytes_max = std::uint64_t{1} << 30;

}  // namespace troupe::limits
