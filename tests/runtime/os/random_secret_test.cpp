// Goal: no two secrets are alike, and the text has all their bits.
#include "runtime/os/random_secret.hpp"

#include <set>

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

TEST(random_secret, is_another_one_each_time) {
  std::set<random_secret::words_t> made;
  std::set<std::string> texts;
  for (int i = 0; i < 1000; ++i) {
    const auto secret = random_secret::make();
    ASSERT_TRUE(secret);
    made.insert(secret->words());
    texts.insert(secret->hex());
    EXPECT_EQ(secret->hex().size(), 32u);
  }
  EXPECT_EQ(made.size(), 1000u);
  EXPECT_EQ(texts.size(), 1000u);
}

}  // namespace
}  // namespace troupe::testing
