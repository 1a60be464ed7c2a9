// Goal: a forward that takes too long is found, and a freeze of the whole run is not taken for one. Method: pages that
// the test writes, times that it says.
#include "runtime/telemetry/stall_watch.hpp"

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

struct busy_stage {
  busy_stage() { accounts.add({0, 0}, page); }
  /// As often as those who look after a run do.
  void look_until(nanoseconds end) {
    for (; now < end; now += limits::report_interval) static_cast<void>(watch.longer_than(1h, accounts, now));
    now = end;
  }

  stage_accounts accounts{{{"stage 0/replica 0", {0, 0}}}};
  std::shared_ptr<engine_page> page = std::make_shared<engine_page>();
  stall_watch watch;
  nanoseconds now = 10s;
};

TEST(stall_watch, finds_a_forward_that_takes_longer) {
  busy_stage stage;
  stage.page->work.begin({0, 7}, stage.now);
  stage.look_until(12s);
  EXPECT_TRUE(stage.watch.longer_than(2s, stage.accounts, stage.now).empty());
  stage.look_until(12s + 100ms);
  const auto found = stage.watch.longer_than(2s, stage.accounts, stage.now);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().working_on, (micro_batch_id{0, 7}));
}

TEST(stall_watch, gives_a_forward_its_time_again_after_a_freeze_of_all) {
  busy_stage stage;
  stage.look_until(11s);
  stage.page->work.begin({0, 7}, stage.now);
  stage.now += 1h;
  EXPECT_TRUE(stage.watch.longer_than(2s, stage.accounts, stage.now).empty()) << "no stage has run";
  EXPECT_TRUE(stage.watch.new_stalls(stage.accounts, stage.now).empty());
  stage.look_until(stage.now + 2s + 100ms);
  EXPECT_EQ(stage.watch.longer_than(2s, stage.accounts, stage.now).size(), 1u);
}

}  // namespace
}  // namespace troupe::testing
