#pragma once

#include <cstdint>

namespace troupe {

/// Cores that this process may run on (its affinity mask), at least 1.
[[nodiscard]] std::uint32_t usable_cores() noexcept;

}  // namespace troupe
