// Goal: work that was sent and comes back no more, or that cannot be sent, is told once nothing has moved for the
// patience, and never while anything moves, works, is being replaced or was frozen. Method: pages and a clock that the
// test moves.
#include "runtime/telemetry/lost_work_watch.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Two stages; two micro-batches of call 0 were sent, none is folded.
struct waiting_run : ::testing::Test {
  waiting_run() {
    for (const stage_address at : {first, last}) stages.add(at, pages.emplace_back(std::make_shared<engine_page>()));
    sent.begin(0, 0);
    sent.note({0, 0}, 4);
    sent.note({0, 1}, 4);
  }
  /// Looks ten times a second for so long; the first thing that is told.
  std::optional<micro_batch_id> look_for(std::chrono::milliseconds time) {
    for (const auto end = now + time; now < end; now += 100ms) {
      if (const auto lost = watch.look(mark, sent, stages, now)) return lost;
    }
    return std::nullopt;
  }

  const stage_address first{1, 0};
  const stage_address last{2, 0};
  std::vector<std::shared_ptr<engine_page>> pages;
  stage_accounts stages{{{"first", first}, {"last", last}}};
  handed_out sent;
  micro_batch_id mark{0, 0};
  std::chrono::nanoseconds now{5s};
  lost_work_watch watch{10s};
};

TEST_F(waiting_run, tells_what_is_waited_for_and_tells_it_again) {
  EXPECT_FALSE(look_for(9900ms));
  EXPECT_EQ(look_for(200ms), (micro_batch_id{0, 0}));
  EXPECT_FALSE(look_for(9900ms));
  EXPECT_TRUE(look_for(400ms));
}

TEST_F(waiting_run, counts_anew_when_something_moves) {
  const std::vector<std::function<void()>> moves = {[this] { pages[1]->counters.micro_batches.fetch_add(1); },
                                                    [this] { pages[0]->arrived_bytes.fetch_add(1); },
                                                    [this] {
                                                      mark = {0, 1};
                                                    },
                                                    [this] {
                                                      sent.note({0, 2}, 4);
                                                    }};
  for (const auto& move : moves) {
    EXPECT_FALSE(look_for(9s));
    move();
  }
  EXPECT_FALSE(look_for(9s));
  EXPECT_EQ(look_for(2s), (micro_batch_id{0, 1}));
}

TEST_F(waiting_run, waits_for_a_forward) {
  pages[0]->work.begin({0, 0}, now);
  EXPECT_FALSE(look_for(1min));
  pages[0]->work.end(1s);
  EXPECT_TRUE(look_for(11s));
}

TEST_F(waiting_run, waits_for_scores_that_are_being_sent) {
  pages[1]->work.begin({0, 0}, now);
  pages[1]->work.end(1ms);
  pages[1]->work.begin({0, 0}, now);
  EXPECT_FALSE(look_for(1min));
  pages[1]->work.put_down();
  EXPECT_TRUE(look_for(11s));
}

TEST_F(waiting_run, waits_for_a_report_that_is_being_taken_in) {
  {
    const stage_accounts::taking_in large(stages);
    EXPECT_FALSE(look_for(1min));
  }
  EXPECT_FALSE(look_for(9s));
  { const stage_accounts::taking_in small(stages); }
  EXPECT_FALSE(look_for(9s)) << "something has moved";
  EXPECT_TRUE(look_for(2s));
}

TEST_F(waiting_run, waits_for_a_stage_that_is_being_replaced) {
  stages.end(last);
  EXPECT_FALSE(look_for(1min));
  stages.add(last, std::make_shared<engine_page>());
  EXPECT_TRUE(look_for(11s));
}

TEST_F(waiting_run, misses_nothing_that_was_not_sent) {
  mark = {0, 2};  // a slow data set
  EXPECT_FALSE(look_for(1min));
  mark = {1, 0};
  EXPECT_FALSE(look_for(1min));
}

TEST_F(waiting_run, tells_what_the_loader_cannot_send_for_lack_of_credit) {
  mark = {0, 2};
  sent.note({0, 2}, 4);
  sent.take_back({0, 2});
  EXPECT_FALSE(look_for(9900ms));
  EXPECT_EQ(look_for(200ms), mark);
}

TEST_F(waiting_run, counts_anew_after_a_freeze) {
  EXPECT_FALSE(look_for(9s));
  now += 1min;
  EXPECT_FALSE(look_for(9900ms));
  EXPECT_TRUE(look_for(400ms));
}

}  // namespace
}  // namespace troupe
