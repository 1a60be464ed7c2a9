#include "runtime/partition/cut_place.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "messages/check.hpp"

namespace troupe {
namespace {

constexpr std::size_t not_possible = std::numeric_limits<std::size_t>::max();

std::size_t distance(std::size_t one, std::size_t other) {
  return std::max(one, other) - std::min(one, other);
}

/// By place x: how far boundaries 1..j move at least if the last of them is at or before it, and where it is then.
struct moves {
  std::vector<std::size_t> distance;
  std::vector<std::size_t> last;
};

moves add_boundary(const std::vector<std::size_t>& fewer, const std::vector<std::size_t>& places, std::size_t wanted) {
  moves made{std::vector<std::size_t>(places.size(), not_possible), std::vector<std::size_t>(places.size(), 0)};
  for (std::size_t x = 1; x < places.size(); ++x) {
    made.distance[x] = made.distance[x - 1];
    made.last[x] = made.last[x - 1];
    if (fewer[x - 1] == not_possible) continue;
    const std::size_t here = fewer[x - 1] + distance(places[x], wanted);
    if (here < made.distance[x]) {  // not `<=`: the earlier place wins
      made.distance[x] = here;
      made.last[x] = x;
    }
  }
  return made;
}

}  // namespace

part_boundaries moved_to_allowed(const part_boundaries& boundaries, std::span<const cut_place> places) {
  std::vector<std::size_t> allowed{0};
  for (std::size_t item = 1; item < places.size(); ++item) {
    if (places[item].is_allowed) allowed.push_back(item);
  }
  const std::size_t cuts = boundaries.size() - 2;
  TROUPE_CHECK(cuts < allowed.size(), "there are places enough");
  std::vector<moves> by_cut{{std::vector<std::size_t>(allowed.size(), 0), {}}};
  for (std::size_t cut = 1; cut <= cuts; ++cut) {
    by_cut.push_back(add_boundary(by_cut.back().distance, allowed, boundaries[cut]));
  }
  part_boundaries moved = boundaries;
  std::size_t behind = allowed.size();
  for (std::size_t cut = cuts; cut > 0; --cut) {
    behind = by_cut[cut].last[behind - 1];
    moved[cut] = allowed[behind];
  }
  return moved;
}

std::vector<part_cost> costs_of(const part_boundaries& boundaries, std::span<const double> seconds,
                                std::span<const cut_place> places, double seconds_per_byte) {
  std::vector<part_cost> costs;
  for (std::size_t part = 0; part + 1 < boundaries.size(); ++part) {
    const std::size_t begin = boundaries[part];
    const std::size_t end = boundaries[part + 1];
    const auto first = seconds.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::uint64_t before = begin == 0 ? 0 : places[begin].bytes;
    const std::uint64_t behind = end == places.size() ? 0 : places[end].bytes;
    costs.push_back({.seconds = std::accumulate(first, first + static_cast<std::ptrdiff_t>(end - begin), 0.0),
                     .crossing_seconds = seconds_per_byte * (static_cast<double>(before) + static_cast<double>(behind)),
                     .bytes_before = before});
  }
  return costs;
}

}  // namespace troupe
