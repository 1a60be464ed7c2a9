#include "runtime/optimizer/keyed_tensors.hpp"

#include <cmath>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include "messages/check.hpp"
#include "runtime/random/keyed_fill.hpp"

namespace troupe {
namespace {

std::span<float> numbers_in(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

random_key key_of(std::uint64_t seed, std::string_view name) {
  return {.seed = seed, .layer = number_of_name(name)};
}

}  // namespace

at::Tensor dropout_mask(at::IntArrayRef sizes, double probability, std::uint64_t seed, std::uint64_t step,
                        std::uint64_t layer, std::span<const std::uint64_t> samples) {
  TROUPE_CHECK(!sizes.empty() && static_cast<std::uint64_t>(sizes[0]) == samples.size(), "each row has a sample");
  at::Tensor mask = at::empty(sizes, at::kFloat);
  if (mask.numel() == 0) return mask;
  const std::span<float> numbers = numbers_in(mask);
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

at::Tensor kaiming_uniform(at::IntArrayRef sizes, double a, std::uint64_t seed, std::string_view name) {
  TROUPE_CHECK(sizes.size() >= 2, "there are inputs of an output");
  double inputs = 1;
  for (const std::int64_t each : sizes.slice(1)) inputs *= static_cast<double>(each);
  return uniform_values(sizes, std::sqrt(6 / ((1 + a * a) * inputs)), seed, name);
}

at::Tensor uniform_values(at::IntArrayRef sizes, double bound, std::uint64_t seed, std::string_view name) {
  at::Tensor made = at::empty(sizes, at::kFloat);
  fill_uniform(numbers_in(made), -bound, bound, key_of(seed, name));
  return made;
}

at::Tensor normal_values(at::IntArrayRef sizes, double mean, double deviation, std::uint64_t seed,
                         std::string_view name) {
  at::Tensor made = at::empty(sizes, at::kFloat);
  fill_normal(numbers_in(made), mean, deviation, key_of(seed, name));
  return made;
}

}  // namespace troupe
