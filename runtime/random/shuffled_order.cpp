#include "runtime/random/shuffled_order.hpp"

#include <algorithm>
#include <bit>

#include "messages/check.hpp"
#include "messages/seeded_draw.hpp"
#include "runtime/random/keyed_numbers.hpp"

namespace troupe {

shuffled_order::shuffled_order(std::uint64_t seed, std::uint64_t epoch, std::uint64_t count) : count_(count) {
  TROUPE_CHECK(count > 0, "an order has samples");
  const keyed_numbers draw({.seed = seed, .layer = number_of_name("shuffled order"), .step = epoch, .sample = count});
  const auto rounds = static_cast<std::uint32_t>(6 * std::bit_width(count) + 20);
  for (std::uint32_t index = 0; index < rounds; ++index) {
    const auto bits = draw.block(index);
    const std::uint64_t sum = (std::uint64_t{bits[1]} << 32U) | bits[0];
    rounds_.push_back({.sum = sum % count, .key = (std::uint64_t{bits[3]} << 32U) | bits[2]});
  }
}

std::uint64_t shuffled_order::swapped(const round& one, std::uint64_t sample) const noexcept {
  const std::uint64_t other = one.sum >= sample ? one.sum - sample : one.sum + (count_ - sample);
  const bool swaps = (seeded_draw(one.key ^ std::max(sample, other)).next() >> 63U) != 0;
  return swaps ? other : sample;
}

std::uint64_t shuffled_order::sample_at(std::uint64_t position) const noexcept {
  for (const round& each : rounds_) position = swapped(each, position);
  return position;
}

std::uint64_t shuffled_order::position_of(std::uint64_t sample) const noexcept {
  for (auto each = rounds_.rbegin(); each != rounds_.rend(); ++each) sample = swapped(*each, sample);
  return sample;
}

}  // namespace troupe
