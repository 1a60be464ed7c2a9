#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace troupe::testing {

/// Everything that distinguishes two moments of a run, a byte each: what the source emits next, whether someone died,
/// the edges, the instances (the id they wait for, or 1 + the number of the edge they took from), the sinks (a bit per
/// folded id). Unused bytes are zero.
using protocol_state = std::array<std::uint8_t, 64>;

constexpr std::size_t source_at = 0;
constexpr std::size_t death_at = 1;
constexpr std::size_t first_edge = 2;

/// Values at death_at: no instance has died, one has and recovery is over, or one is dead (its instance number
/// follows).
constexpr std::uint8_t nobody_died = 0;
constexpr std::uint8_t recovered = 1;
constexpr std::uint8_t first_dead = 2;

/// An edge is a byte: in the lowest two bits how many slots are in use, above them the ids, the first one lowest. What
/// the consumer has taken stays, as its slot does, until the consumer has sent its output.
constexpr unsigned count_of(std::uint8_t edge) noexcept {
  return edge & 3u;
}
constexpr std::uint8_t head_of(std::uint8_t edge) noexcept {
  return (edge >> 2) & 3u;
}
constexpr std::uint8_t last_of(std::uint8_t edge) noexcept {
  return (edge >> (2 * count_of(edge))) & 3u;
}
constexpr std::uint8_t with(std::uint8_t edge, std::uint8_t id) noexcept {
  return static_cast<std::uint8_t>((edge | id << (2 + 2 * count_of(edge))) + 1);
}
constexpr std::uint8_t without_head(std::uint8_t edge) noexcept {
  return static_cast<std::uint8_t>((edge >> 4) << 2 | (count_of(edge) - 1));
}

constexpr unsigned edge_slots_max = 3;
constexpr std::uint8_t micro_batches_max = 4;

}  // namespace troupe::testing
