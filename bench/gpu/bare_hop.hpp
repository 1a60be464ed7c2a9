#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::bench {

/// What a hop over cuda_ipc cannot be faster than: a copy on the device behind which an event passes, by the driver's
/// functions alone. Microseconds of each, of this process. `of_two`: two processes do so in turns, and this call copies
/// the process. No process that calls it has used CUDA before.
[[nodiscard]] std::vector<std::vector<double>> bare_hops(const std::vector<std::size_t>& sizes, std::uint32_t hops,
                                                         bool of_two);

}  // namespace troupe::bench
