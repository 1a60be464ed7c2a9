// Goal: what can come back of what the loader sent is known exactly, also after replays, cuts and marks.
#include "runtime/ledger/handed_out.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using standing = handed_out::standing;

struct sent_calls : ::testing::Test {
  void note(call_number call, std::uint64_t from, std::uint64_t to, std::uint64_t samples) {
    for (std::uint64_t index = from; index < to; ++index) sent.note({call, index}, samples);
  }
  handed_out sent;
};

TEST_F(sent_calls, are_known_by_id_with_their_samples) {
  sent.begin(0, 3);
  note(0, 3, 10, 4);
  note(0, 10, 11, 2);
  EXPECT_EQ(sent.find({0, 2}).now, standing::never) << "an earlier run folded it";
  EXPECT_EQ(sent.find({0, 3}).now, standing::out);
  EXPECT_EQ(sent.find({0, 9}).samples, 4U);
  EXPECT_EQ(sent.find({0, 10}).samples, 2U);
  EXPECT_EQ(sent.find({0, 11}).now, standing::never);
  EXPECT_EQ(sent.find({1, 0}).now, standing::never);
  EXPECT_EQ(sent.next_call(), 1U);
}

TEST_F(sent_calls, are_counted_from_a_mark_on_over_all_calls) {
  EXPECT_EQ(sent.count_from({0, 0}), 0U);
  sent.begin(0, 3);
  note(0, 3, 10, 4);
  sent.begin(1, 0);
  note(1, 0, 5, 4);
  EXPECT_EQ(sent.count_from({0, 0}), 12U);
  EXPECT_EQ(sent.count_from({0, 8}), 7U);
  EXPECT_EQ(sent.count_from({0, 10}), 5U);
  EXPECT_EQ(sent.count_from({1, 2}), 3U);
  EXPECT_EQ(sent.count_from({1, 9}), 0U);
  sent.take_back({1, 4});
  EXPECT_EQ(sent.count_from({1, 2}), 2U);
}

TEST_F(sent_calls, take_back_what_went_nowhere) {
  sent.begin(0, 0);
  note(0, 0, 2, 4);
  note(0, 2, 3, 1);
  sent.take_back({0, 2});
  EXPECT_EQ(sent.find({0, 2}).now, standing::never);
  EXPECT_TRUE(sent.is_out_or_held({0, 2}));
  EXPECT_FALSE(sent.is_out_or_held({0, 3}));
  sent.let_go();
  EXPECT_FALSE(sent.is_out_or_held({0, 2}));
  note(0, 2, 3, 5);
  EXPECT_TRUE(sent.is_out_or_held({0, 2}));
  EXPECT_EQ(sent.find({0, 2}).samples, 5U);
  sent.take_back({0, 1});
  EXPECT_EQ(sent.find({0, 1}).samples, 4U) << "it is not the last one";
}

TEST_F(sent_calls, are_over_below_the_mark) {
  sent.begin(0, 0);
  note(0, 0, 2, 4);
  sent.begin(1, 0);
  for (std::uint64_t index = 0; index < 6; ++index) note(1, index, index + 1, index);
  sent.set_low_water({1, 4});
  EXPECT_EQ(sent.find({0, 1}).now, standing::over);
  EXPECT_EQ(sent.find({0, 77}).now, standing::over) << "nothing depends on it";
  EXPECT_EQ(sent.find({1, 3}).now, standing::over);
  EXPECT_EQ(sent.find({1, 4}).samples, 4U);
  EXPECT_EQ(sent.find({1, 5}).samples, 5U);
  EXPECT_EQ(sent.find({1, 6}).now, standing::never);
  note(0, 0, 2, 4);
  EXPECT_EQ(sent.find({0, 1}).now, standing::over);
}

TEST_F(sent_calls, count_what_an_engine_can_have_received) {
  sent.begin(0, 0);
  note(0, 0, 3, 4);
  sent.note({0, 2}, 4);
  EXPECT_EQ(sent.deliveries(), 3U) << "tried again, and not sent again";
  sent.new_epoch();
  note(0, 2, 4, 4);
  EXPECT_EQ(sent.deliveries(), 5U);
}

}  // namespace
}  // namespace troupe
