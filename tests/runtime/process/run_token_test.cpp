// Goal: tokens differ, and only their own text is one.
#include <set>

#include <gtest/gtest.h>

#include <troupe/runtime/process/run_token.hpp>

namespace troupe::testing {
namespace {

TEST(run_token, comes_back_from_its_text) {
  std::set<std::string> texts;
  for (int i = 0; i < 100; ++i) {
    const auto token = run_token::make();
    ASSERT_TRUE(token);
    EXPECT_EQ(run_token::parse(token->hex()), *token);
    texts.insert(token->hex());
  }
  EXPECT_EQ(texts.size(), 100u);
}

TEST(run_token, text_is_read_strictly) {
  const auto token = run_token::parse("000102030405060708090a0b0c0d0eff");
  ASSERT_TRUE(token);
  for (std::uint8_t i = 0; i < 15; ++i) EXPECT_EQ(token->bytes().at(i), i);
  EXPECT_EQ(token->bytes().back(), 0xff);
  for (const char* bad : {"", "00", "000102030405060708090a0b0c0d0ef", "000102030405060708090a0b0c0d0eff0",
                          "000102030405060708090A0B0C0D0EFF", "000102030405060708090a0b0c0d0ef\n",
                          "0x0102030405060708090a0b0c0d0eff", "g00102030405060708090a0b0c0d0eff"}) {
    EXPECT_FALSE(run_token::parse(bad)) << bad;
  }
}

TEST(run_token, one_bit_makes_another) {
  const auto token = *run_token::parse("00000000000000000000000000000000");
  EXPECT_FALSE(token == *run_token::parse("80000000000000000000000000000000"));
  EXPECT_FALSE(token == *run_token::parse("00000000000000000000000000000001"));
}

}  // namespace
}  // namespace troupe::testing
