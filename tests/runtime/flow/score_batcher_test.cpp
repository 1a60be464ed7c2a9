// Goal: scores wait for each other, for ever longer but never too long, and a message never grows too large. Method: a
// clock that the test moves.
#include "runtime/flow/score_batcher.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

score made_of(call_number call, std::size_t words = 1) {
  score made;
  made.id = {call, 0};
  made.words.resize(words);
  return made;
}

TEST(score_batcher, wait_twice_as_long_from_message_to_message) {
  score_batcher held;
  std::chrono::nanoseconds now = 5s;
  for (std::chrono::nanoseconds delay = limits::score_delay_min; delay < 4 * limits::score_delay_max; delay *= 2) {
    const auto expected = std::min(delay, limits::score_delay_max);
    EXPECT_FALSE(held.due(now)) << "nothing waits";
    held.add(made_of(0), now);
    held.add(made_of(0), now + expected - 1ns);
    EXPECT_FALSE(held.due(now + expected - 1ns));
    EXPECT_EQ(held.time_left(now + expected - 1ns), 1ns);
    EXPECT_TRUE(held.due(now + expected)) << "the oldest counts";
    EXPECT_EQ(held.time_left(now + expected + 1s), 0ns);
    EXPECT_EQ(held.take().size(), 2u);
    now += 1s;
  }
  held.shorten_delay();
  held.add(made_of(0), now);
  EXPECT_EQ(held.time_left(now), limits::score_delay_min);
}

TEST(score_batcher, an_engine_with_none_looks_around_as_usual) {
  const score_batcher held;
  EXPECT_TRUE(held.empty());
  EXPECT_EQ(held.time_left(1s), limits::park_max);
}

TEST(score_batcher, a_message_is_full_by_count) {
  score_batcher held;
  for (std::uint32_t i = 0; i < limits::scores_per_message_max; ++i) {
    EXPECT_FALSE(held.due(1s));
    ASSERT_TRUE(held.fits(made_of(0)));
    held.add(made_of(0), 1s);
  }
  EXPECT_TRUE(held.due(1s));
  EXPECT_FALSE(held.fits(made_of(0)));
  EXPECT_EQ(held.take().size(), limits::scores_per_message_max);
  EXPECT_TRUE(held.fits(made_of(0)));
}

TEST(score_batcher, a_message_is_full_by_words_whatever_was_dropped_or_taken_before) {
  score_batcher held;
  const std::size_t most = limits::score_words_per_message;
  held.add(made_of(0, most - 1), 1s);
  EXPECT_FALSE(held.due(1s));
  EXPECT_FALSE(held.fits(made_of(1, 2)));
  EXPECT_TRUE(held.fits(made_of(1, 1)));
  held.add(made_of(1, 1), 1s);
  EXPECT_TRUE(held.due(1s));
  held.drop(0);
  EXPECT_FALSE(held.due(1s));
  EXPECT_TRUE(held.fits(made_of(1, most - 1)));
  static_cast<void>(held.take());
  EXPECT_TRUE(held.fits(made_of(1, limits::score_words_max))) << "the largest score has a message of its own";
  held.add(made_of(1, limits::score_words_max), 1s);
  EXPECT_TRUE(held.due(1s));
}

TEST(score_batcher, of_a_dropped_call_nothing_is_sent) {
  score_batcher held;
  held.add(made_of(3), 1s);
  held.add(made_of(4), 1s);
  held.add(made_of(3), 1s);
  held.drop(3);
  const auto left = held.take();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.front().id.call, 4u);
}

}  // namespace
}  // namespace troupe
