#include "runtime/kernel/state_hash.hpp"

#include <cstring>

namespace troupe {
namespace {

constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;

std::uint64_t word_at(const std::byte* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

/// A product carries each bit to the higher ones alone, so its upper half is mixed into the lower one.
std::uint64_t step(std::uint64_t chain, std::uint64_t word) {
  const std::uint64_t product = (chain ^ word) * factor;
  return product ^ (product >> 32U);
}

/// The last steps of SplitMix64: every bit of the argument changes about half of the result.
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

}  // namespace

std::uint64_t state_hash(std::span<const std::byte> bytes, std::uint64_t before) noexcept {
  constexpr std::size_t chains = 8;
  constexpr std::size_t stride = chains * sizeof(std::uint64_t);
  std::uint64_t chain[chains] = {};
  for (std::size_t each = 0; each < chains; ++each) chain[each] = before + each;
  std::size_t at = 0;
  for (; at + stride <= bytes.size(); at += stride) {
#pragma GCC unroll 8
    for (std::size_t each = 0; each < chains; ++each) {
      chain[each] = step(chain[each], word_at(bytes.data() + at + each * sizeof(std::uint64_t)));
    }
  }
  std::byte rest[stride] = {};
  if (at < bytes.size()) std::memcpy(rest, bytes.data() + at, bytes.size() - at);
  std::uint64_t hash = mixed(bytes.size());
  for (std::size_t each = 0; each < chains; ++each) {
    hash = mixed(hash + mixed(step(chain[each], word_at(rest + each * sizeof(std::uint64_t)))));
  }
  return hash;
}

}  // namespace troupe
