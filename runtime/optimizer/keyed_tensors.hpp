#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace troupe {

// Tensors of random numbers by key (runtime/random), float32 on the CPU. Threads: pure; rows are drawn on the caller's
// team, which does not change them.

/// What a layer multiplies its input by in dropout: 0 with `probability`, else 1 / (1 - probability). `sizes`: of the
/// input, with a row for each of `samples`, which are indices in the data set. A row depends on seed, step, layer and
/// its sample alone, so that it is the same in every micro-batch and part.
at::Tensor dropout_mask(at::IntArrayRef sizes, double probability, std::uint64_t seed, std::uint64_t step,
                        std::uint64_t layer, std::span<const std::uint64_t> samples);

/// Initial values of a parameter: a function of seed and name.
///
/// As torch.nn.init.kaiming_uniform_ with this `a` for leaky_relu: evenly from -bound to bound with
/// bound = sqrt(6 / ((1 + a^2) fan_in)). torch.nn.Linear and the convolutions use a = sqrt(5) for their weights.
/// `sizes` has at least two dimensions.
at::Tensor kaiming_uniform(at::IntArrayRef sizes, double a, std::uint64_t seed, std::string_view name);
/// Evenly from -bound to below bound, as the biases of torch.nn.Linear with bound = 1 / sqrt(fan_in).
at::Tensor uniform_values(at::IntArrayRef sizes, double bound, std::uint64_t seed, std::string_view name);
at::Tensor normal_values(at::IntArrayRef sizes, double mean, double deviation, std::uint64_t seed,
                         std::string_view name);

}  // namespace troupe
