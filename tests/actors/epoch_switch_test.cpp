// Goal: a new epoch begins once for each order to pause, whatever late answers come; losses without progress have a
// limit.
#include "actors/epoch_switch.hpp"

#include <gtest/gtest.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;

TEST(epoch_switch, begins_an_epoch_for_each_pause) {
  epoch_switch epochs;
  EXPECT_EQ(epochs.epoch(), 0U);
  const auto round = epochs.pause();
  EXPECT_TRUE(epochs.pausing());
  EXPECT_TRUE(epochs.paused(round));
  EXPECT_FALSE(epochs.pausing());
  EXPECT_EQ(epochs.begin(5s), 1U);
  EXPECT_EQ(epochs.epoch(), 1U);
  EXPECT_FALSE(epochs.paused(round)) << "the same answer again";
}

TEST(epoch_switch, hears_no_answer_to_an_earlier_order) {
  epoch_switch epochs;
  const auto lost = epochs.pause();
  epochs.give_up();
  EXPECT_FALSE(epochs.pausing());
  EXPECT_FALSE(epochs.paused(lost));
  const auto round = epochs.pause();
  EXPECT_FALSE(epochs.paused(lost));
  EXPECT_TRUE(epochs.paused(round));
}

TEST(epoch_switch, knows_what_was_seen_before_it) {
  epoch_switch epochs;
  static_cast<void>(epochs.begin(5s));
  EXPECT_TRUE(epochs.is_older_than_epoch(4s));
  EXPECT_FALSE(epochs.is_older_than_epoch(5s));
}

TEST(epoch_switch, ends_after_losses_without_progress) {
  epoch_switch epochs;
  for (std::uint32_t loss = 1; loss < limits::deaths_without_progress_max; ++loss) {
    EXPECT_TRUE(epochs.may_follow_a_loss({0, 0}));
  }
  EXPECT_FALSE(epochs.may_follow_a_loss({0, 0}));
}

TEST(epoch_switch, counts_losses_anew_after_progress) {
  epoch_switch epochs;
  for (std::uint64_t mark = 0; mark < 3 * limits::deaths_without_progress_max; ++mark) {
    EXPECT_TRUE(epochs.may_follow_a_loss({0, mark}));
    EXPECT_TRUE(epochs.may_follow_a_loss({0, mark}));
  }
}

TEST(epoch_switch, pauses_once_at_a_time) {
  epoch_switch epochs;
  static_cast<void>(epochs.pause());
  EXPECT_DEATH(static_cast<void>(epochs.pause()), "one order to pause");
}

}  // namespace
}  // namespace troupe
