#pragma once

#include <cstdint>
#include <span>

namespace troupe {

enum class extent_fault : std::uint8_t {
  none,
  outside,   ///< an element lies behind the memory
  too_many,  ///< more elements than are allowed
};

/// Checks what a file says of a tensor against the memory that it is a view of, which has `elements` elements. Several
/// elements may lie at one place, as those of expand() do, so that a tensor may have more of them: `elements_max` at
/// most. `sizes` and `strides` are as many, and neither they nor `offset` are below zero. A tensor without elements has
/// no place: it is never outside.
extent_fault check_extent(std::int64_t offset, std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides, std::uint64_t elements, std::uint64_t elements_max);

}  // namespace troupe
