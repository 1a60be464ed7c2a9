#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

namespace troupe {

/// How many samples of a micro-batch have NaN, and how many an infinity, among their outputs. One may have both.
struct odd_samples {
  std::uint64_t with_nan = 0;
  std::uint64_t with_infinity = 0;
};

/// `outputs`: tensors of [samples, ...] on the CPU. Where they are float32, float64, float16 or bfloat16 every value is
/// looked at; other types have no odd values. Costs one pass over the memory, and one more where there is an odd value.
/// Throws what LibTorch throws where outputs that are not contiguous cannot be copied.
odd_samples count_odd_samples(std::span<const at::Tensor* const> outputs);

}  // namespace troupe
