#include "runtime/random/philox.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/random/keyed_numbers.hpp"

namespace troupe {
namespace {

using ::testing::ElementsAre;

// The lines "philox4x32 10" of kat_vectors in Random123.
TEST(philox, known_answers_of_its_authors) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  EXPECT_THAT(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  EXPECT_THAT(philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
              ElementsAre(0xd16cfe09U, 0x94fdcceb, 0x5001e420U, 0x24126ea1U));
}

TEST(keyed_numbers, each_part_of_the_key_counts) {
  const random_key key{.seed = 1, .layer = 2, .step = 3, .sample = 4};
  const auto first = keyed_numbers(key).block(0);
  EXPECT_EQ(first, keyed_numbers(key).block(0));
  EXPECT_NE(first, keyed_numbers(key).block(1));
  constexpr std::uint64_t high = std::uint64_t{1} << 33U;
  for (const std::uint64_t other : {std::uint64_t{9}, high}) {
    for (std::uint64_t random_key::*part :
         {&random_key::seed, &random_key::layer, &random_key::step, &random_key::sample}) {
      random_key changed = key;
      changed.*part += other;
      EXPECT_NE(first, keyed_numbers(changed).block(0));
    }
  }
}

}  // namespace
}  // namespace troupe
