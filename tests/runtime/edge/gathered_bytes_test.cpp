// Goal: bytes keep their order and their places. Method: a payload of views, own bytes and gaps, read piece by piece.
#include "runtime/edge/gathered_bytes.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

std::vector<int> read_all(const gathered_bytes& from) {
  std::vector<int> all;
  for (const auto piece : from.pieces()) {
    EXPECT_FALSE(piece.empty());
    for (const std::byte b : piece) all.push_back(std::to_integer<int>(b));
  }
  EXPECT_EQ(all.size(), from.size());
  return all;
}

TEST(gathered_bytes, keeps_the_order_of_views_own_bytes_and_gaps) {
  constexpr std::array<std::byte, 3> others{std::byte{1}, std::byte{2}, std::byte{3}};
  gathered_bytes bytes;
  bytes.view(others);
  bytes.view({});
  bytes.pad_to(4);
  bytes.own(2)[0] = std::byte{7};
  bytes.pad_to(2);
  EXPECT_EQ(read_all(bytes), (std::vector{1, 2, 3, 0, 7, 0}));
  EXPECT_EQ(bytes.pieces().front().data(), others.data()) << "copied";
}

TEST(gathered_bytes, own_bytes_stay_while_more_are_added) {
  gathered_bytes bytes;
  const auto first = bytes.own(1);
  first[0] = std::byte{42};
  for (int i = 0; i < 100; ++i) bytes.own(1000)[0] = std::byte{1};
  EXPECT_EQ(bytes.pieces().front().data(), first.data());
  EXPECT_EQ(bytes.pieces().front()[0], std::byte{42});
}

TEST(gathered_bytes, begins_anew_in_the_same_memory) {
  gathered_bytes bytes;
  const auto* const before = bytes.own(64).data();
  bytes.clear();
  EXPECT_EQ(bytes.size(), 0u);
  EXPECT_TRUE(bytes.pieces().empty());
  EXPECT_EQ(bytes.own(8).data(), before);
}

}  // namespace
}  // namespace troupe::testing
