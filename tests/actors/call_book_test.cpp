// Goal: calls become loading in the order of submission, each only when all have acknowledged it; the first cause of a
// cancellation stays; each call is closed once.
#include "actors/call_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using phase = call_book::phase;

constexpr stage_address first{1, 0};
constexpr stage_address last_stage{2, 0};
const error a_cause{error_code::interrupted, "test", "first", {}};
const error another_cause{error_code::deadline_passed, "test", "second", {}};

call_ticket_ptr ticket() {
  return std::make_shared<call_ticket>();
}

/// Two calls, each waits for two stages and the aggregator.
struct two_calls : ::testing::Test {
  two_calls() {
    for (const call_ticket_ptr& each : tickets) {
      const call_number number = book.open(each);
      book.await(number, first);
      book.await(number, last_stage);
    }
  }
  void acknowledge_all(call_number number) {
    book.acknowledge_by_aggregator(number);
    book.acknowledge(number, first);
    book.acknowledge(number, last_stage);
  }
  const std::vector<call_ticket_ptr> tickets{ticket(), ticket()};
  call_book book;
};

TEST_F(two_calls, are_numbered_and_found_by_their_tickets) {
  EXPECT_EQ(tickets[0]->number, 0U);
  EXPECT_EQ(tickets[1]->number, 1U);
  EXPECT_EQ(book.find(tickets[1]), 1U);
  EXPECT_FALSE(book.find(ticket()));
}

TEST_F(two_calls, load_when_all_have_acknowledged) {
  book.acknowledge_by_aggregator(0);
  book.acknowledge(0, last_stage);
  EXPECT_THAT(book.take_loadable(5s), IsEmpty());
  EXPECT_EQ(book.at(0).now, phase::opening);
  book.acknowledge(0, first);
  EXPECT_EQ(book.at(0).now, phase::opened);
  EXPECT_THAT(book.take_loadable(5s), ElementsAre(0U));
  EXPECT_EQ(book.at(0).now, phase::loading);
  EXPECT_EQ(book.at(0).started, 5s);
  EXPECT_THAT(book.take_loadable(6s), IsEmpty()) << "once";
}

TEST_F(two_calls, load_in_the_order_of_submission) {
  acknowledge_all(1);
  EXPECT_THAT(book.take_loadable(5s), IsEmpty());
  acknowledge_all(0);
  EXPECT_THAT(book.take_loadable(5s), ElementsAre(0U, 1U));
}

TEST_F(two_calls, wait_for_a_stage_that_comes_while_they_open_and_not_later) {
  book.await(0, {3, 0});
  acknowledge_all(0);
  EXPECT_EQ(book.at(0).now, phase::opening);
  book.acknowledge(0, {3, 0});
  EXPECT_EQ(book.at(0).now, phase::opened);
  book.await(0, {3, 1});
  EXPECT_THAT(book.take_loadable(5s), ElementsAre(0U));
}

TEST_F(two_calls, do_not_wait_for_a_stage_that_is_lost) {
  book.acknowledge_by_aggregator(0);
  book.acknowledge(0, first);
  book.excuse(last_stage);
  EXPECT_THAT(book.take_loadable(5s), ElementsAre(0U));
}

TEST_F(two_calls, keep_the_first_cause_and_do_not_hold_up_those_behind_them) {
  EXPECT_TRUE(book.cancel(0, a_cause));
  EXPECT_FALSE(book.cancel(0, another_cause));
  EXPECT_EQ(book.at(0).cause->cause, "first");
  acknowledge_all(0);
  acknowledge_all(1);
  EXPECT_THAT(book.take_loadable(5s), ElementsAre(1U));
  EXPECT_EQ(book.at(0).now, phase::cancelling);
  EXPECT_FALSE(book.cancel(7, a_cause));
}

TEST_F(two_calls, are_cut_where_they_stand) {
  acknowledge_all(0);
  static_cast<void>(book.take_loadable(5s));
  EXPECT_THAT(book.cut(), ElementsAre(1U)) << "nothing of it was loaded";
  EXPECT_EQ(book.cut_below(), 2U);
}

TEST_F(two_calls, are_closed_once) {
  const auto closed = book.close(0);
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->ticket, tickets[0]);
  EXPECT_FALSE(book.close(0));
  book.acknowledge(0, first);
  EXPECT_FALSE(book.contains(0));
  EXPECT_EQ(book.close_all().size(), 1U);
  EXPECT_TRUE(book.empty());
}

TEST_F(two_calls, are_awaited_from_the_first_that_is_open) {
  EXPECT_EQ(book.first_awaited({0, 3}), (micro_batch_id{0, 3})) << "of an open call the loader is right";
  static_cast<void>(book.close(0));
  EXPECT_EQ(book.first_awaited({0, 3}), (micro_batch_id{1, 0})) << "the loader has not heard of its end";
  tickets[1]->start.folded = {40};
  EXPECT_EQ(book.first_awaited({0, 3}), (micro_batch_id{1, tickets[1]->start.first()}));
  static_cast<void>(book.close(1));
  EXPECT_EQ(book.first_awaited({0, 3}), (micro_batch_id{2, 0}));
}

TEST(call_book, is_full_at_its_limit) {
  call_book book;
  for (std::uint32_t open = 0; open < limits::calls_queued_max; ++open) {
    EXPECT_FALSE(book.full());
    static_cast<void>(book.open(ticket()));
  }
  EXPECT_TRUE(book.full());
  static_cast<void>(book.close(5));
  EXPECT_FALSE(book.full());
}

}  // namespace
}  // namespace troupe
