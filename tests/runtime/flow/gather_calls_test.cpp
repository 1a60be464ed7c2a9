// Goal: an engine that keeps order passes from call to call at the right moment, also over calls that were cancelled.
// Method: as gather_test, with flushes, skips and forgets between the parts.
#include <gmock/gmock.h>

#include "feeding.hpp"

namespace troupe::testing {
namespace {

TEST(gather_calls, the_flush_on_all_edges_ends_a_call) {
  feeding given{in_order, {0, 0}};
  ASSERT_TRUE(given.send(0, {0, 0}));
  EXPECT_EQ(given.take(), "0.0 by 0");
  given.flush(0, 0);
  ASSERT_TRUE(given.send(0, {1, 0}));
  EXPECT_EQ(given.take(), "") << "0.1 may still come by the other edge";
  given.flush(1, 0);
  EXPECT_EQ(given.take(), "1.0 by 0");
}

TEST(gather_calls, the_head_of_a_later_call_says_as_much_as_the_flush) {
  feeding given{in_order, {0, 0}};
  ASSERT_TRUE(given.send(0, {2, 1}));
  EXPECT_EQ(given.take(), "");
  ASSERT_TRUE(given.send(1, {2, 0}));
  EXPECT_EQ(given.take(), "2.0 by 1") << "calls 0 and 1 had nothing for this engine";
  EXPECT_EQ(given.take(), "2.1 by 0");
}

TEST(gather_calls, a_flush_of_many_calls_passes_all_of_them) {
  feeding given{two_ports, {0, 1}};
  given.flush(0, 4);
  given.flush(1, 5);
  for (const std::size_t edge : {0u, 1u}) ASSERT_TRUE(given.send(edge, {6, 0}));
  EXPECT_EQ(given.take(), "6.0 by 0, 6.0 by 1");
}

TEST(gather_calls, passes_over_however_many_calls_at_once) {
  constexpr call_number far = call_number{1} << 60;  // one after the other would take years
  feeding given{two_ports, {0, 1}};
  given.flush(0, far);
  given.flush(1, far + 1);
  for (const std::size_t edge : {0u, 1u}) ASSERT_TRUE(given.send(edge, {far + 1, 0}));
  EXPECT_EQ(given.take(), std::to_string(far + 1) + ".0 by 0, " + std::to_string(far + 1) + ".0 by 1");
}

TEST(gather_calls, a_resumed_call_begins_where_it_was_left) {
  for (const bool is_told_late : {false, true}) {
    feeding given{{.ports = 2, .keeps_order = true, .replica = 1, .replicas = 2}, {0, 1}};
    if (!is_told_late) given.inbound.begin(1, 4);
    for (const std::size_t edge : {0u, 1u}) ASSERT_TRUE(given.send(edge, {0, 1}));
    EXPECT_EQ(given.take(), "0.1 by 0, 0.1 by 1");
    for (const std::size_t edge : {0u, 1u}) ASSERT_TRUE(given.send(edge, {1, 5}));
    if (is_told_late) {
      EXPECT_EQ(given.take(), "") << "1.1 may still come";
      given.inbound.begin(1, 4);
    }
    EXPECT_EQ(given.take(), "1.5 by 0, 1.5 by 1") << "of those from 4 on the first that is this replica's";
    given.inbound.begin(1, 4);
    for (const std::size_t edge : {0u, 1u}) ASSERT_TRUE(given.send(edge, {1, 7}));
    EXPECT_EQ(given.take(), "1.7 by 0, 1.7 by 1") << "told twice is told once";
  }
}

TEST(gather_calls, a_new_epoch_or_a_call_before_does_not_lose_the_beginning) {
  feeding given{in_order, {0}};
  given.inbound.begin(1, 4);
  given.inbound.begin(2, 3);
  given.inbound.forget(0);
  ASSERT_TRUE(given.send(0, {1, 4}) && given.send(0, {2, 3}));
  EXPECT_EQ(given.take(), "1.4 by 0");
  EXPECT_EQ(given.take(), "2.3 by 0");

  feeding other{in_order, {0}};
  other.inbound.begin(1, 4);
  other.inbound.start_over({1, 0});
  other.add(0);
  ASSERT_TRUE(other.send(1, {1, 4}));
  EXPECT_EQ(other.take(), "1.4 by 1");
}

TEST(gather_calls, a_skipped_call_loses_its_heads_and_what_comes_of_it) {
  feeding given{two_ports, {0, 1}, 1};
  ASSERT_TRUE(given.send(0, {0, 0}));
  EXPECT_EQ(given.take(), "");
  EXPECT_EQ(given.credits(0), 0u) << "held";
  given.inbound.skip(0);
  EXPECT_EQ(given.credits(0), 1u);
  ASSERT_TRUE(given.send(0, {0, 1}) && given.send(1, {0, 0}));
  EXPECT_EQ(given.take(), "");
  EXPECT_EQ(given.credits(0) + given.credits(1), 2u);
  ASSERT_TRUE(given.send(0, {1, 0}) && given.send(1, {1, 0}));
  EXPECT_EQ(given.take(), "1.0 by 0, 1.0 by 1");
}

TEST(gather_calls, a_call_can_be_skipped_before_its_turn) {
  feeding given{in_order, {0}};
  given.inbound.skip(1);
  for (const micro_batch_id id : {micro_batch_id{0, 0}, {1, 0}, {1, 1}, {2, 0}}) ASSERT_TRUE(given.send(0, id));
  EXPECT_EQ(given.take(), "0.0 by 0");
  EXPECT_EQ(given.take(), "2.0 by 0");
  EXPECT_EQ(given.credits(0), 4u);
}

TEST(gather_calls, nobody_waits_for_the_end_of_a_skipped_call) {
  feeding given{in_order, {0, 0}};
  given.inbound.skip(0);
  ASSERT_TRUE(given.send(0, {1, 0}));
  EXPECT_EQ(given.take(), "1.0 by 0") << "edge 1 has not said a word";
}

TEST(gather_calls, a_skip_does_not_touch_the_heads_of_other_calls) {
  feeding given{two_ports, {0, 1}};
  ASSERT_TRUE(given.send(0, {1, 0}) && given.send(1, {0, 0}));
  EXPECT_EQ(given.take(), "");
  given.inbound.skip(0);
  EXPECT_EQ(given.credits(0), 3u) << "1.0 is still held";
  EXPECT_EQ(given.credits(1), 4u);
  ASSERT_TRUE(given.send(1, {1, 0}));
  EXPECT_EQ(given.take(), "1.0 by 0, 1.0 by 1");
}

TEST(gather_calls, what_is_forgotten_is_dropped_for_ever) {
  feeding given{in_order, {0}, 2};
  ASSERT_TRUE(given.send(0, {1, 0}) && given.send(0, {1, 1}));
  given.inbound.skip(0);
  given.inbound.forget(1);
  EXPECT_EQ(given.take(), "");
  EXPECT_EQ(given.credits(0), 2u);
  ASSERT_TRUE(given.send(0, {0, 0}) && given.send(0, {2, 0})) << "a late replay of call 0";
  EXPECT_EQ(given.take(), "2.0 by 0");
}

TEST(gather_calls, forgetting_a_call_that_was_passed_long_ago_changes_nothing) {
  feeding given{in_order, {0}};
  ASSERT_TRUE(given.send(0, {3, 0}) && given.send(0, {3, 1}));
  EXPECT_EQ(given.take(), "3.0 by 0");
  given.inbound.forget(1);
  EXPECT_EQ(given.take(), "3.1 by 0");
}

TEST(gather_calls, without_order_skips_are_left_to_the_engine) {
  feeding given{{}, {0}};
  given.inbound.skip(0);
  given.inbound.forget(0);
  ASSERT_TRUE(given.send(0, {0, 5}));
  EXPECT_EQ(given.take(), "0.5 by 0");
}

TEST(gather_calls, a_call_has_ended_when_it_has_on_all_edges) {
  feeding given{{}, {0, 0}};
  EXPECT_EQ(given.inbound.flushed_through(), std::nullopt);
  given.flush(0, 2);
  EXPECT_EQ(given.inbound.flushed_through(), std::nullopt);
  ASSERT_TRUE(given.send(1, {1, 0}));
  given.flush(1, 1);
  EXPECT_EQ(given.inbound.flushed_through(), std::nullopt) << "1.0 was not taken";
  EXPECT_EQ(given.take(), "1.0 by 1");
  EXPECT_EQ(given.inbound.flushed_through(), 1u);
}

TEST(gather_calls, a_call_has_not_ended_while_a_part_of_it_is_held) {
  feeding given{two_ports, {0, 1}};
  for (const std::size_t edge : {0u, 1u}) ASSERT_TRUE(given.send(edge, {0, 0}));
  ASSERT_TRUE(given.send(0, {1, 0}));
  given.flush(0, 1);
  EXPECT_EQ(given.take(), "0.0 by 0, 0.0 by 1");
  given.flush(1, 0);
  EXPECT_EQ(given.take(), "") << "holds 1.0";
  EXPECT_EQ(given.inbound.flushed_through(), 0u);
  ASSERT_TRUE(given.send(1, {1, 0}));
  given.flush(1, 1);
  EXPECT_EQ(given.take(), "1.0 by 0, 1.0 by 1");
  EXPECT_EQ(given.inbound.flushed_through(), 1u);
}

TEST(gather_calls, a_held_part_of_call_0_means_that_none_has_ended) {
  feeding given{two_ports, {0, 1}};
  ASSERT_TRUE(given.send(0, {0, 0}));
  for (const std::size_t edge : {0u, 1u}) given.flush(edge, 0);
  EXPECT_EQ(given.take(), "");
  EXPECT_EQ(given.inbound.flushed_through(), std::nullopt);
  given.inbound.skip(0);
  EXPECT_EQ(given.inbound.flushed_through(), 0u);
}

}  // namespace
}  // namespace troupe::testing
