// Goal: workers that cannot start end the run, and workers that are killed do not; every row of deaths has an end.
// Method: the production pool and stages, workers that the test starts, ends and freezes in virtual time.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_workers.hpp"
#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(worker_pool, replaces_workers_that_are_killed_while_they_start) {
  fake_workers workers(3);
  ASSERT_EQ(workers.all().size(), 3u);
  for (std::size_t one = 0; one < 3; ++one) workers.is_shot(workers.all()[one]);
  EXPECT_TRUE(workers.news().failures.empty()) << to_string(workers.news().failures.front().cause);
  ASSERT_EQ(workers.alive(), 3u);
  for (std::size_t one = 3; one < 6; ++one) workers.says_hello(workers.all()[one]);
  for (std::uint32_t stage = 0; stage < 3; ++stage) EXPECT_NE(workers.worker_of({stage, 0}), nullptr);
  EXPECT_EQ(workers.alive(), 4u) << "and a spare";
}

TEST(worker_pool, gives_up_when_a_killer_does_not_stop) {
  fake_workers workers(1);
  while (workers.news().failures.empty()) {
    ASSERT_LE(workers.all().size(), limits::worker_starts_killed_max);
    workers.is_shot(workers.newest());
  }
  EXPECT_EQ(workers.all().size(), limits::worker_starts_killed_max);
  const error cause = workers.news().failures.front().cause;
  EXPECT_EQ(cause.code, error_code::process_failed);
  EXPECT_THAT(cause.cause, HasSubstr("10 times in a row a worker ended before it said hello: killed by SIGKILL"));
}

TEST(worker_pool, gives_up_when_workers_end_by_themselves) {
  fake_workers workers(1);
  while (workers.news().failures.empty()) {
    ASSERT_LE(workers.all().size(), limits::worker_failed_starts_max);
    workers.ends(workers.newest(), exit_kind::signalled, SIGSEGV);
  }
  EXPECT_EQ(workers.all().size(), limits::worker_failed_starts_max);
  EXPECT_THAT(workers.news().failures.front().cause.cause, HasSubstr("killed by SIGSEGV"));
}

TEST(worker_pool, does_not_replace_a_dying_spare_without_end) {
  fake_workers workers(1);
  workers.says_hello(workers.newest());
  const std::size_t others = workers.all().size() - 1;
  while (workers.newest().is_alive && workers.all().size() < 1000) {
    workers.says_hello(workers.newest());
    workers.is_shot(workers.newest());
  }
  EXPECT_EQ(workers.all().size(), others + limits::spares_lost_in_window_max);
  EXPECT_TRUE(workers.news().failures.empty()) << "the run goes on without one";
  workers.begins({0, 0});
  workers.is_shot(workers.all().front());
  ASSERT_EQ(workers.news().lost.size(), 1u);
}

TEST(worker_pool, kills_a_worker_that_says_no_hello) {
  fake_workers workers(1);
  workers.pass(limits::worker_hello_timeout - 1s);
  EXPECT_EQ(workers.all().front().worker->killed_for(), "");
  EXPECT_EQ(workers.alive(), 2u) << "the one that came in its place";
  workers.pass(2s);
  EXPECT_EQ(workers.all().front().worker->killed_for(), "it said no hello for 60 s");
}

TEST(worker_pool, does_not_blame_workers_for_its_own_freeze) {
  fake_workers workers(1);
  workers.freeze(2 * limits::worker_hello_timeout);
  EXPECT_EQ(workers.all().front().worker->killed_for(), "") << "it was frozen, too, or its hello waits to be read";
  EXPECT_EQ(workers.alive(), 1u);
  workers.says_hello(workers.all().front());
  EXPECT_EQ(workers.worker_of({0, 0}), workers.all().front().worker);
}

TEST(worker_pool, kills_a_worker_that_says_hello_twice) {
  fake_workers workers(1);
  workers.says_hello(workers.all().front());
  EXPECT_EQ(workers.all().front().worker->killed_for(), "");
  workers.says_hello(workers.all().front());
  EXPECT_THAT(workers.all().front().worker->killed_for(), HasSubstr("worker_hello comes a second time"));
}

TEST(worker_pool, tells_a_stage_that_the_link_of_its_spare_is_lost_already) {
  fake_workers workers(1);
  workers.says_hello(workers.all().front());
  auto& spare = workers.newest();
  workers.says_hello(spare);
  workers.breaks_link(spare);
  workers.pass(2s);
  EXPECT_EQ(spare.worker->killed_for(), "") << "its end may be told any moment";
  workers.is_shot(workers.all().front());
  ASSERT_EQ(workers.worker_of({0, 0}), spare.worker);
  workers.pass(2s);
  EXPECT_THAT(spare.worker->killed_for(), HasSubstr("it was silent for"));
}

TEST(worker_pool, gives_up_when_its_host_starts_no_worker) {
  fake_workers workers(1);
  workers.host().close();
  workers.is_shot(workers.newest());
  ASSERT_EQ(workers.news().failures.size(), 1u);
  EXPECT_EQ(workers.news().failures.front().cause.code, error_code::engine_stopped);
}

}  // namespace
}  // namespace troupe::testing
