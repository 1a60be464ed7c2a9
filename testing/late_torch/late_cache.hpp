#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <c10/core/Allocator.h>

namespace troupe::late {

/// From now on memory of the device comes from a cache by the rules of LibTorch's cache for CUDA (c10/cuda, 2.11):
/// sizes of allocations, the smallest free place of a stream that fits, splitting, merging, and giving back. `source`
/// gives the allocations. Memory that is freed is used again at once, in the order of its stream, and holds NaN until
/// then. Once, before the device is used.
void use_cache(std::function<std::shared_ptr<std::byte>(std::size_t bytes)> source);
/// Null without one.
[[nodiscard]] c10::Allocator* used_cache();

}  // namespace troupe::late
