#include "runtime/random/keyed_fill.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "messages/check.hpp"

namespace troupe {
namespace {

/// `make(bits)` for the 32 bits of each position.
template <class Make>
void fill(std::span<float> values, const random_key& key, const Make& make) {
  TROUPE_CHECK(values.size() <= (std::uint64_t{1} << 34U), "a key has 2^34 numbers");
  const keyed_numbers draw(key);
  std::size_t at = 0;
  for (std::uint32_t index = 0; at < values.size(); ++index) {
    const std::array<std::uint32_t, 4> bits = draw.block(index);
    const std::size_t count = std::min<std::size_t>(4, values.size() - at);
    for (std::size_t each = 0; each < count; ++each) values[at++] = make(bits[each]);
  }
}

/// The natural one of a number from 2^-32 to 1. Those of libraries round differently from processor to processor.
double logarithm(double number) {
  int exponent = 0;
  double mantissa = std::frexp(number, &exponent);
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  const double ratio = (mantissa - 1) / (mantissa + 1);
  const double square = ratio * ratio;
  double sum = 0;
  for (int power = 23; power > 0; power -= 2) sum = sum * square + 2.0 / power;
  return sum * ratio + exponent * std::numbers::ln2;
}

struct direction {
  double cosine = 1;
  double sine = 0;
};

/// `share`: of a full turn, from 0 to below 1.
direction direction_of(double share) {
  const int eighths = static_cast<int>(share * 8);
  const int quarters = (eighths + 1) / 2;
  const double angle = (share - quarters * 0.25) * 2 * std::numbers::pi;
  const double square = angle * angle;
  double cosine = 0;
  double sine = 0;
  for (int power = 18; power > 0; power -= 2) {
    cosine = 1 - square / (power * (power - 1)) * (power == 18 ? 1 : cosine);
    sine = 1 - square / (power * (power + 1)) * (power == 18 ? 1 : sine);
  }
  sine *= angle;
  switch (quarters % 4) {
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    case 3:
      return {sine, -cosine};
    default:
      return {cosine, sine};
  }
}

}  // namespace

void fill_dropout_mask(std::span<float> row, double probability, const random_key& key) {
  TROUPE_CHECK(probability >= 0 && probability <= 1, "a probability is from 0 to 1");
  const auto dropped = static_cast<std::uint64_t>(std::ldexp(probability, 32));
  const auto kept = static_cast<float>(1 / (1 - probability));
  fill(row, key, [&](std::uint32_t bits) { return bits < dropped ? 0.0F : kept; });
}

void fill_uniform(std::span<float> values, double low, double high, const random_key& key) {
  const double width = high - low;
  const auto last = std::nextafter(static_cast<float>(high), static_cast<float>(low));
  fill(values, key, [&](std::uint32_t bits) {
    const auto made = static_cast<float>(low + width * (static_cast<double>(bits) * 0x1.0p-32));
    return made < static_cast<float>(high) ? made : last;
  });
}

void fill_normal(std::span<float> values, double mean, double deviation, const random_key& key) {
  TROUPE_CHECK(values.size() <= (std::uint64_t{1} << 34U), "a key has 2^34 numbers");
  const keyed_numbers draw(key);
  std::size_t at = 0;
  for (std::uint32_t index = 0; at < values.size(); ++index) {
    const std::array<std::uint32_t, 4> bits = draw.block(index);
    for (std::size_t pair = 0; pair < 4 && at < values.size(); pair += 2) {
      const double radius = std::sqrt(-2 * logarithm((static_cast<double>(bits[pair]) + 1) * 0x1.0p-32));
      const direction towards = direction_of(static_cast<double>(bits[pair + 1]) * 0x1.0p-32);
      values[at++] = static_cast<float>(mean + deviation * radius * towards.cosine);
      if (at < values.size()) values[at++] = static_cast<float>(mean + deviation * radius * towards.sine);
    }
  }
}

}  // namespace troupe
