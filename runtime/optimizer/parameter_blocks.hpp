#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>

#include "runtime/kernel/update_kernels.hpp"
#include "runtime/optimizer/parameter_layout.hpp"

namespace troupe {

/// A range of elements of one parameter.
struct parameter_block {
  static constexpr std::uint64_t elements_max = 65536;

  std::size_t parameter = 0;  ///< its position
  std::uint64_t offset = 0;   ///< bytes from the beginning of a section
  std::int64_t elements = 0;
};

/// All of the tensors, in their order, in blocks of 65,536 elements: the unit of work of one thread.
std::vector<parameter_block> blocks_of(const std::vector<stored_tensor>& tensors);

/// Calls `compute(index)` for each index below blocks.size(), on the caller's team where there is work for it.
template <class Compute>
void each_block(const std::vector<parameter_block>& blocks, const Compute& compute) {
  std::int64_t elements = 0;
  for (const parameter_block& each : blocks) elements += each.elements;
  const auto count = static_cast<std::int64_t>(blocks.size());
  const auto worthwhile = static_cast<std::int64_t>(parameter_block::elements_max);
  const std::int64_t grain = std::max<std::int64_t>(1, elements == 0 ? count : count * worthwhile / elements);
  at::parallel_for(0, count, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t index = first; index < last; ++index) compute(static_cast<std::size_t>(index));
  });
}

/// Calls `compute` with the kernels for the type of a parameter.
template <class Compute>
auto with_kernels(at::ScalarType type, const Compute& compute) {
  return type == at::kDouble ? compute(update_kernels_of<double>()) : compute(update_kernels_of<float>());
}

}  // namespace troupe
