// Goal: what happened in the last seconds counts, and nothing before. Method: moments of the test's own.
#include "runtime/log/recent_count.hpp"

#include <gmock/gmock.h>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

TEST(recent_count, forgets_what_is_as_old_as_its_span) {
  recent_count refused;
  const recent_count::time_point begin(1000s);
  EXPECT_EQ(refused.at(begin), 0u);
  for (int i = 0; i < 3; ++i) refused.note(begin);
  refused.note(begin + 4s);
  EXPECT_EQ(refused.at(begin + 4s), 4u);
  EXPECT_EQ(refused.at(begin + recent_count::span - 1ms), 4u);
  EXPECT_EQ(refused.at(begin + recent_count::span), 1u);
  EXPECT_EQ(refused.at(begin + recent_count::span + 4s), 0u);
  refused.note(begin + 100s);
  EXPECT_EQ(refused.at(begin + 100s), 1u);
}

}  // namespace
}  // namespace troupe::testing
