// Support of the tests of stages on devices: micro-batches of numbers that a seed gives.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include <ATen/ops/empty.h>

#include "messages/activation.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {

using network = std::function<at::Tensor(const at::Tensor&)>;

inline at::Tensor numbers(at::IntArrayRef sizes, double seed) {
  const at::Tensor made = at::empty(sizes);
  float* values = made.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < made.numel(); ++i)
    values[i] = static_cast<float>(std::sin(seed + 1.7 * static_cast<double>(i)));
  return made;
}
inline at::Tensor numbers(at::IntArrayRef sizes, std::uint64_t seed) {
  return numbers(sizes, static_cast<double>(seed));
}

inline activation micro_batch(std::uint64_t index, at::Tensor tensor) {
  activation made;
  made.id = {0, index};
  made.samples = {0, static_cast<std::uint64_t>(tensor.size(0))};
  made.tensors = make_tensors(std::move(tensor));
  return made;
}

}  // namespace troupe
