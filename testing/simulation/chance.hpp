#pragma once

#include <cstdint>

namespace troupe::simulation {

/// Numbers that follow from a seed (splitmix64): the same on every machine, and much faster than the standard's.
class chance {
 public:
  explicit chance(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30u)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27u)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31u);
  }
  /// `end` is not 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t end) noexcept { return next() % end; }
  [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most) noexcept {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least + 1)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace troupe::simulation
