#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

namespace troupe {

/// What a layer multiplies its input by in dropout, float32 on the CPU: 0 with `probability`, else 1 / (1 -
/// probability). `sizes`: of the input, with a row for each of `samples`, which are indices in the data set. A row
/// depends on seed, step, layer and its sample alone, so that it is the same in every micro-batch and part. Threads:
/// pure; rows are drawn on the caller's team, which does not change them.
at::Tensor dropout_mask(at::IntArrayRef sizes, double probability, std::uint64_t seed, std::uint64_t step,
                        std::uint64_t layer, std::span<const std::uint64_t> samples);

}  // namespace troupe
