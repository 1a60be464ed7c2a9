#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/partition/weights.hpp"

namespace troupe {

/// Where a part may begin: before an item. That of the first item is no cut.
struct cut_place {
  bool is_allowed = true;
  /// Crosses a cut here with each micro-batch. All places together have fewer than 2^64.
  std::uint64_t bytes = 0;
};

/// Seconds that one byte of a cut costs the stage that sends it, and as many the stage that gets it: the reciprocal of
/// the transport's bandwidth, measured on one machine with messages of 256 KiB to 64 MiB (docs/benchmarks.md).
namespace cut_cost {
/// Between threads a handle is passed on, whatever the size.
inline constexpr double in_process = 0;
/// 9 GB/s: one copy into the shared memory.
inline constexpr double shm = 1.1e-10;
/// 4 GB/s over the loopback device. A network is slower: 8e-10 at 10 Gbit/s.
inline constexpr double tcp = 2.5e-10;
}  // namespace cut_cost

/// As minimise_slowest(weights, parts), where the weights are seconds, cuts are at allowed places only, and a part
/// takes `seconds_per_byte` longer for each byte of the cuts before and behind it. Of the cuts whose slowest part is
/// fastest those are taken at which the fewest bytes cross; then the smallest sum of squares, then the earliest. One
/// place per item; parts - 1 of those behind the first are allowed. `seconds_per_byte` is finite and not negative.
part_boundaries minimise_slowest(std::span<const double> seconds, std::span<const cut_place> places,
                                 double seconds_per_byte, std::size_t parts);

/// These boundaries, none of which leaves a part empty, at allowed places: so that they move by the fewest items, all
/// together; then the earliest. Enough places are allowed.
part_boundaries moved_to_allowed(const part_boundaries& boundaries, std::span<const cut_place> places);

/// What a part costs.
struct part_cost {
  /// Its own work.
  double seconds = 0;
  /// What receiving and sending take besides.
  double crossing_seconds = 0;
  /// What crosses the cut before it; 0 for the first part.
  std::uint64_t bytes_before = 0;
  [[nodiscard]] double total() const { return seconds + crossing_seconds; }
};

/// By part, for boundaries that leave none empty.
std::vector<part_cost> costs_of(const part_boundaries& boundaries, std::span<const double> seconds,
                                std::span<const cut_place> places, double seconds_per_byte);

}  // namespace troupe
