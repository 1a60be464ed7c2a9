// Goal: the checksum is that of RFC 3720 at every length, alignment and split. Method: published values, and an
// independent calculation bit by bit.
#include "runtime/os/crc32c.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

using bytes = std::span<const std::byte>;

/// As the RFC defines it: division by the polynomial, one bit after the other; state before and after inversion.
std::uint32_t divided_on(std::uint32_t state, std::byte next) {
  state ^= std::to_integer<std::uint32_t>(next);
  for (int bit = 0; bit < 8; ++bit) state = (state & 1u) != 0 ? state >> 1u ^ 0x82f63b78u : state >> 1u;
  return state;
}

std::vector<std::byte> random_bytes(std::size_t count) {
  std::mt19937 random(1);
  std::vector<std::byte> text(count);
  for (std::byte& b : text) b = static_cast<std::byte>(random());
  return text;
}

/// Of all beginnings of the text: that of `n` bytes at `n`.
std::vector<std::uint32_t> divided(bytes text) {
  std::vector<std::uint32_t> all{0};
  std::uint32_t state = ~0u;
  for (const std::byte b : text) all.push_back(~(state = divided_on(state, b)));
  return all;
}

void expect_value(bytes text, std::uint32_t value) {
  EXPECT_EQ(crc32c(text), value);
  EXPECT_EQ(divided(text).back(), value);
}

TEST(crc32c, gives_the_values_of_rfc_3720) {
  std::array<std::byte, 32> block{};
  expect_value(block, 0x8a9136aau);
  block.fill(std::byte{0xff});
  expect_value(block, 0x62a8ab43u);
  for (std::size_t i = 0; i < 32; ++i) block[i] = static_cast<std::byte>(i);
  expect_value(block, 0x46dd794eu);
  std::ranges::reverse(block);
  expect_value(block, 0x113fdb5cu);
  std::array<std::byte, 48> read_command{};
  read_command[0] = std::byte{0x01};
  read_command[1] = std::byte{0xc0};
  for (const auto& [at, value] : {std::pair{16, 0x14}, {22, 0x04}, {27, 0x14}, {31, 0x18}, {32, 0x28}, {40, 0x02}}) {
    read_command[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
  }
  expect_value(read_command, 0xd9963a56u);
}

TEST(crc32c, gives_the_check_value) {
  expect_value(std::as_bytes(std::span(std::string_view("123456789"))), 0xe3069283u);
}

// 20,000 bytes are several blocks of the widest instructions, whatever remains behind them.
TEST(crc32c, is_right_for_every_length) {
  const auto text = random_bytes(20'000);
  const auto right = divided(text);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    ASSERT_EQ(crc32c(bytes(text).first(size)), right[size]) << size << " bytes";
  }
}

TEST(crc32c, is_right_at_every_alignment_around_whole_kibibytes) {
  const auto text = random_bytes(13'312);
  for (std::size_t from = 0; from < 16; ++from) {
    const bytes piece = bytes(text).subspan(from);
    const auto right = divided(piece);
    for (std::size_t border = 0; border <= 12'288; border += 1024) {
      for (std::size_t size = border < 17 ? 0 : border - 17; size <= border + 17; ++size) {
        ASSERT_EQ(crc32c(piece.first(size)), right[size]) << size << " bytes from " << from;
      }
    }
  }
}

TEST(crc32c, goes_on_over_pieces_of_any_size) {
  const auto text = random_bytes(20'000);
  const std::uint32_t right = divided(text).back();
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::uint32_t value = 0;
    for (bytes rest = text; !rest.empty();) {
      const std::size_t size = std::min<std::size_t>(random() % (round % 2 == 0 ? 8000 : 500), rest.size());
      value = crc32c(rest.first(size), value);
      rest = rest.subspan(size);
    }
    ASSERT_EQ(value, right) << "round " << round;
  }
}

TEST(crc32c, notices_every_flipped_bit_of_a_block) {
  auto text = random_bytes(3 * 1024 + 40);
  const std::uint32_t right = crc32c(text);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    const auto mask = static_cast<std::byte>(1u << bit % 8);
    text[bit / 8] ^= mask;
    ASSERT_NE(crc32c(text), right) << "bit " << bit;
    text[bit / 8] ^= mask;
  }
}

}  // namespace
}  // namespace troupe::testing
