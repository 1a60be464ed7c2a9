#include "runtime/archive/tensor_extent.hpp"

#include <algorithm>
#include <limits>

namespace troupe {

extent_fault check_extent(std::int64_t offset, std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides, std::uint64_t elements, std::uint64_t elements_max) {
  std::uint64_t all = 1;
  auto last = static_cast<std::uint64_t>(offset);
  bool is_outside = false;
  const bool is_empty = std::ranges::find(sizes, 0) != sizes.end();
  const std::uint64_t most = is_empty ? std::numeric_limits<std::int64_t>::max() : elements_max;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // The product of an empty tensor's other sizes is computed later, and must not overflow.
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[i], 1));
    std::uint64_t reach = 0;
    if (__builtin_mul_overflow(all, size, &all) || all > most) return extent_fault::too_many;
    is_outside = is_outside || __builtin_mul_overflow(size - 1, static_cast<std::uint64_t>(strides[i]), &reach) ||
                 __builtin_add_overflow(last, reach, &last);
  }
  return !is_empty && (is_outside || last >= elements) ? extent_fault::outside : extent_fault::none;
}

}  // namespace troupe
