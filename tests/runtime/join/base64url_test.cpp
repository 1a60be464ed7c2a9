// Goal: base64url is that of RFC 4648, and OpenSSL's encoder agrees.
#include "runtime/join/base64url.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/evp.h>

namespace troupe::testing {
namespace {

std::string by_openssl(const std::vector<std::uint8_t>& bytes) {
  std::string text(bytes.size() * 2 + 5, '\0');
  text.resize(static_cast<std::size_t>(
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(), static_cast<int>(bytes.size()))));
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text.substr(0, text.find('='));
}

TEST(base64url, of_any_bytes_is_that_of_openssl) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 200; ++size) {
    std::vector<std::uint8_t> bytes(size);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const secret_text text = to_base64url(bytes);
    EXPECT_EQ(text.view(), by_openssl(bytes));
    const auto [back, wrong_at] = from_base64url(text.view());
    EXPECT_FALSE(wrong_at);
    EXPECT_TRUE(std::ranges::equal(back.bytes(), bytes));
  }
}

TEST(base64url, has_one_form) {
  EXPECT_EQ(from_base64url("Zg").bytes.view(), "f");
  EXPECT_FALSE(from_base64url("Zg").wrong_at);
  // Spare bits that are not zero, a single character, padding, the other alphabet, white space.
  EXPECT_EQ(from_base64url("Zh").wrong_at, 1u);
  EXPECT_EQ(from_base64url("Z").wrong_at, 0u);
  EXPECT_EQ(from_base64url("A").wrong_at, 0u);
  EXPECT_EQ(from_base64url("Zm9vA").wrong_at, 4u);
  EXPECT_EQ(from_base64url("Zg==").wrong_at, 2u);
  EXPECT_EQ(from_base64url("ab+/").wrong_at, 2u);
  EXPECT_EQ(from_base64url("ab c").wrong_at, 2u);
}

}  // namespace
}  // namespace troupe::testing
