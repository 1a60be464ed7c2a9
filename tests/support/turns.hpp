#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/sanitized.hpp"

namespace troupe::testing {

/// Like cases that take long have their turns: after some days all have run. All day they are the same ones, so that a
/// failure is met again. TROUPE_TURN is the number of the day that counts (since 1970), or "all": every case runs.
/// CONTRIBUTING.md has the rule. The turn of cases changes every other day, because whole programs have their turns in
/// release and with AddressSanitizer day by day (scripts/run_tests.py).
inline std::optional<std::uint64_t> turn() {
  const char* const given = std::getenv("TROUPE_TURN");
  if (given == nullptr) {
    const auto now = std::chrono::system_clock::now();
    return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::days>(now).time_since_epoch().count()) / 2;
  }
  if (std::string{given} == "all") return std::nullopt;
  return std::strtoull(given, nullptr, 10) / 2;
}

/// `count` of `all`, in their order. `all.size() / count` turns, rounded up, have every case.
template <typename Case>
std::vector<Case> in_turn(const std::vector<Case>& all, std::size_t count) {
  const auto now = turn();
  if (!now || count >= all.size()) return all;
  std::vector<Case> some;
  for (std::size_t place = 0; place < all.size(); ++place) {
    const std::size_t first = *now * count % all.size();
    if ((place + all.size() - first) % all.size() < count) some.push_back(all[place]);
  }
  return some;
}

/// Whether one of `of` tests, the one at `place`, has its turn.
inline bool has_turn(std::size_t place, std::size_t of) {
  const auto now = turn();
  return !now || *now % of == place;
}

/// The same under a sanitizer; without one all of them, or true.
template <typename Case>
std::vector<Case> in_turn_if_sanitized(const std::vector<Case>& all, std::size_t count) {
  return sanitized ? in_turn(all, count) : all;
}
inline bool has_turn_if_sanitized(std::size_t place, std::size_t of) {
  return !sanitized || has_turn(place, of);
}

/// Said with GTEST_SKIP.
inline constexpr const char* another_turn = "has its turn on another day; TROUPE_TURN=all runs every case";

}  // namespace troupe::testing
