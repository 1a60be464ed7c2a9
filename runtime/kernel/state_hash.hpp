#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// A hash of bytes that finds damage, at the speed of memory: eight chains of 64-bit words, each of which is a
/// bijection of its state for every word, so that one changed word always changes the hash; others are missed with a
/// probability of about 2^-64. It is no defence against an adversary. The same on every little-endian machine. `before`
/// is the hash of what came before. Threads: pure.
[[nodiscard]] std::uint64_t state_hash(std::span<const std::byte> bytes, std::uint64_t before = 0) noexcept;

}  // namespace troupe
