#pragma once

#include <cstdint>

namespace troupe {

/// Splitmix64 (Steele, Lea, Flood 2014): the same numbers on every machine and with every library.
class seeded_draw {
 public:
  explicit constexpr seeded_draw(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }
  /// Below `bound`, which is above 0.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
  /// From 0 to below 1.
  constexpr double share() noexcept { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace troupe
