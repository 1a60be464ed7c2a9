// Goal: no two tokens are alike.
#include "runtime/process/run_token.hpp"

#include <set>

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

TEST(run_token, is_another_one_each_time) {
  std::set<std::array<std::uint8_t, run_token::size>> made;
  for (int i = 0; i < 1000; ++i) {
    const auto token = run_token::make();
    ASSERT_TRUE(token);
    made.insert(token->bytes());
  }
  EXPECT_EQ(made.size(), 1000u);
}

}  // namespace
}  // namespace troupe::testing
