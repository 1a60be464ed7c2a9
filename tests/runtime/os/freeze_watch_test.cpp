// Goal: the silence of others counts only while this process runs. Method: a clock that the test sets.
#include "runtime/os/freeze_watch.hpp"

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

TEST(freeze_watch, counts_from_the_beginning_while_it_is_looked_at) {
  freeze_watch watch(200ms);
  for (auto now = 1000ms; now <= 5000ms; now += 100ms) EXPECT_EQ(watch.lasted(900ms, now), now - 900ms);
}

TEST(freeze_watch, counts_anew_after_a_pause) {
  freeze_watch watch(200ms);
  watch.look(1000ms);
  EXPECT_EQ(watch.lasted(900ms, 9000ms), 0ms) << "what was said meanwhile waits to be read";
  EXPECT_EQ(watch.lasted(900ms, 9100ms), 100ms);
  EXPECT_EQ(watch.lasted(9050ms, 9200ms), 150ms) << "it began after the pause";
  EXPECT_EQ(watch.lasted(900ms, 9700ms), 0ms) << "the second one";
}

TEST(freeze_watch, takes_no_late_look_for_a_freeze) {
  freeze_watch watch(200ms);
  watch.look(1000ms);
  EXPECT_FALSE(watch.look(1200ms));
  EXPECT_TRUE(watch.look(1401ms));
  EXPECT_FALSE(watch.look(1402ms));
}

TEST(freeze_watch, knows_nothing_of_the_time_before_its_first_look) {
  freeze_watch watch(200ms);
  EXPECT_EQ(watch.lasted(1000ms, 9000ms), 8000ms);
}

}  // namespace
}  // namespace troupe::testing
