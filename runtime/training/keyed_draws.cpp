#include "runtime/training/keyed_draws.hpp"

#include <cstdint>

#include <ATen/CPUGeneratorImpl.h>

namespace troupe {

at::Generator torch_generator(const random_key& key) {
  const auto bits = keyed_numbers(key).block(0);
  return at::make_generator<at::CPUGeneratorImpl>(std::uint64_t{bits[1]} << 32U | bits[0]);
}

}  // namespace troupe
