#pragma once

#include <chrono>
#include <cstdint>

#include "messages/seeded_draw.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

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
