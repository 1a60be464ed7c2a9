// Goal: a receiver in another process refuses what lies outside all that was sent, and nothing that was sent.
#include "runtime/ledger/sent_bounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

using ::testing::HasSubstr;

TEST(sent_bounds, hold_all_that_was_sent) {
  sent_bounds sent;
  sent.note({0, 0}, 4);
  sent.note({0, 1}, 4);
  sent.note({0, 2}, 1);
  sent.note({2, 0}, 4);
  for (const auto& [id, samples] : {std::pair{micro_batch_id{0, 0}, 4U}, {{0, 2}, 1U}, {{2, 0}, 4U}}) {
    EXPECT_TRUE(sent.check(id, samples)) << to_string(id);
  }
}

TEST(sent_bounds, refuse_what_was_not) {
  sent_bounds sent;
  EXPECT_FALSE(sent.check({0, 0}, 4));
  sent.note({0, 0}, 4);
  sent.note({0, 1}, 2);
  for (const micro_batch_id id : {micro_batch_id{0, 2}, micro_batch_id{0, 1'000'000}, micro_batch_id{1, 0}}) {
    const auto checked = sent.check(id, 4);
    ASSERT_FALSE(checked) << to_string(id);
    EXPECT_EQ(checked.error().code, error_code::wire_malformed);
    EXPECT_THAT(to_string(checked.error()), HasSubstr(to_string(id) + ": no such micro-batch was sent"));
  }
  for (const std::uint64_t samples : {0, 1, 5}) {
    const auto checked = sent.check({0, 0}, samples);
    ASSERT_FALSE(checked) << samples;
    EXPECT_THAT(checked.error().cause, HasSubstr(std::to_string(samples) + " samples, and none of so many was sent"));
  }
}

TEST(sent_bounds, know_which_calls_have_ended) {
  sent_bounds sent;
  EXPECT_FALSE(sent.has_ended(0));
  sent.note({0, 0}, 4);
  sent.note_ended(1);
  EXPECT_TRUE(sent.has_ended(0));
  EXPECT_FALSE(sent.has_ended(1));
  sent.note_ended(0);  // a new epoch flushes old calls again
  EXPECT_TRUE(sent.has_ended(0));
}

}  // namespace
}  // namespace troupe
