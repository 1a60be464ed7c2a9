#include "runtime/training/keyed_draws.hpp"

#include <ATen/CPUGeneratorImpl.h>

namespace troupe {
namespace {

std::uint64_t mixed(std::uint64_t state, std::uint64_t next) {
  state = (state ^ next) + 0x9e3779b97f4a7c15U;
  state = (state ^ state >> 30U) * 0xbf58476d1ce4e5b9U;
  state = (state ^ state >> 27U) * 0x94d049bb133111ebU;
  return state ^ state >> 31U;
}

}  // namespace

at::Generator torch_generator(std::uint64_t seed, std::uint64_t step, std::uint64_t sample, std::uint64_t layer) {
  return at::make_generator<at::CPUGeneratorImpl>(mixed(mixed(mixed(seed, step), sample), layer));
}

}  // namespace troupe
