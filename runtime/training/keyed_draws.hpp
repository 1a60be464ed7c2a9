#pragma once

#include <cstdint>

#include <ATen/core/Generator.h>

namespace troupe {

/// A generator whose numbers follow from these alone.
at::Generator torch_generator(std::uint64_t seed, std::uint64_t step, std::uint64_t sample, std::uint64_t layer);

}  // namespace troupe
