#pragma once

#include <ATen/core/Generator.h>

#include "runtime/random/keyed_numbers.hpp"

namespace troupe {

/// A generator of LibTorch, on the CPU, whose numbers follow from the key alone.
at::Generator torch_generator(const random_key& key);

}  // namespace troupe
