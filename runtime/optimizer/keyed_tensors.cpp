#include "runtime/optimizer/keyed_tensors.hpp"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include "messages/check.hpp"
#include "runtime/random/keyed_fill.hpp"

namespace troupe {

at::Tensor dropout_mask(at::IntArrayRef sizes, double probability, std::uint64_t seed, std::uint64_t step,
                        std::uint64_t layer, std::span<const std::uint64_t> samples) {
  TROUPE_CHECK(!sizes.empty() && static_cast<std::uint64_t>(sizes[0]) == samples.size(), "each row has a sample");
  at::Tensor mask = at::empty(sizes, at::kFloat);
  if (mask.numel() == 0) return mask;
  const std::span<float> numbers(mask.mutable_data_ptr<float>(), static_cast<std::size_t>(mask.numel()));
  const std::size_t row = numbers.size() / samples.size();
  constexpr std::int64_t worthwhile = 16384;
  const std::int64_t grain = 1 + worthwhile / static_cast<std::int64_t>(row);
  at::parallel_for(0, sizes[0], grain, [&](std::int64_t first, std::int64_t last) {
    for (auto index = static_cast<std::size_t>(first); index < static_cast<std::size_t>(last); ++index) {
      fill_dropout_mask(numbers.subspan(index * row, row), probability,
                        {.seed = seed, .layer = layer, .step = step, .sample = samples[index]});
    }
  });
  return mask;
}

}  // namespace troupe
