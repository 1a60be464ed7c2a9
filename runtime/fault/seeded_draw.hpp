#pragma once

#include <chrono>
#include <cstdint>

#include <troupe/fault_plan.hpp>

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

/// A draw for one thing among many: the k-th message of a fault, say.
constexpr seeded_draw draw_for(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0) noexcept {
  const std::uint64_t first = seeded_draw(seed ^ (a * 0xd1342543de82ef95U)).next();
  return seeded_draw(first ^ (b * 0xaf251af3b0f025b5U));
}

/// How late a delay or a slow forward is; `share` is drawn from 0 to below 1.
inline std::chrono::nanoseconds lateness_of(const fault& one, double share) {
  const std::chrono::duration<double, std::nano> jitter = one.jitter.value_or(std::chrono::nanoseconds{0});
  return one.delay.value_or(std::chrono::nanoseconds{0}) +
         std::chrono::duration_cast<std::chrono::nanoseconds>(share * jitter);
}

}  // namespace troupe
