#include "runtime/kernel/state_hash.hpp"

#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/seeded_draw.hpp"

namespace troupe {
namespace {

std::vector<std::byte> drawn_bytes(std::size_t count) {
  seeded_draw draw(50);
  std::vector<std::byte> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(static_cast<std::byte>(draw.next()));
  return made;
}

TEST(state_hash, sees_each_changed_bit_and_where_it_is) {
  for (const std::size_t size : {1, 7, 8, 63, 64, 65, 200}) {
    std::vector<std::byte> bytes = drawn_bytes(size);
    std::set<std::uint64_t> found = {state_hash(bytes)};
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      const auto mask = static_cast<std::byte>(1U << bit % 8);
      bytes[bit / 8] ^= mask;
      found.insert(state_hash(bytes));
      bytes[bit / 8] ^= mask;
    }
    EXPECT_EQ(found.size(), 8 * size + 1);
  }
}

TEST(state_hash, sees_two_changes_of_the_highest_bit) {
  const std::vector<std::byte> bytes(512);
  std::set<std::uint64_t> found;
  for (std::size_t one = 7; one < bytes.size(); one += 8) {
    for (std::size_t other = 7; other <= one; other += 8) {
      std::vector<std::byte> changed = bytes;
      changed[one] = std::byte{0x80};
      changed[other] = std::byte{0x80};
      found.insert(state_hash(changed));
    }
  }
  EXPECT_EQ(found.size(), 64U * 65 / 2);
}

TEST(state_hash, sees_size_and_what_came_before) {
  std::set<std::uint64_t> found;
  for (std::size_t size = 0; size < 200; ++size) found.insert(state_hash(std::vector<std::byte>(size)));
  for (std::uint64_t before = 1; before < 200; ++before) found.insert(state_hash(std::vector<std::byte>(70), before));
  EXPECT_EQ(found.size(), 399U);
}

TEST(state_hash, changes_half_of_the_bits) {
  const std::vector<std::byte> bytes = drawn_bytes(1000);
  int changed = 0;
  for (std::size_t bit = 0; bit < 1000; ++bit) {
    std::vector<std::byte> other = bytes;
    other[bit] ^= std::byte{1};
    changed += __builtin_popcountll(state_hash(other) ^ state_hash(bytes));
  }
  EXPECT_NEAR(changed / 1000.0, 32, 0.6);
}

}  // namespace
}  // namespace troupe
