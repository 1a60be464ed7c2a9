#include "runtime/random/keyed_fill.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "messages/check.hpp"

namespace troupe {

void fill_dropout_mask(std::span<float> row, double probability, const random_key& key) {
  TROUPE_CHECK(probability >= 0 && probability <= 1, "a probability is from 0 to 1");
  TROUPE_CHECK(row.size() <= (std::uint64_t{1} << 34U), "a key has 2^34 numbers");
  const auto dropped = static_cast<std::uint64_t>(std::ldexp(probability, 32));
  const auto kept = static_cast<float>(1 / (1 - probability));
  const keyed_numbers draw(key);
  std::size_t at = 0;
  for (std::uint32_t index = 0; at < row.size(); ++index) {
    const std::array<std::uint32_t, 4> bits = draw.block(index);
    const std::size_t count = std::min<std::size_t>(4, row.size() - at);
    for (std::size_t each = 0; each < count; ++each) row[at++] = bits[each] < dropped ? 0.0F : kept;
  }
}

}  // namespace troupe
