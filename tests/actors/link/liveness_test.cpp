// Goal: the end of a peer is told in time however it ended, and none that lives is taken for dead.
#include <csignal>

#include "tests/actors/link/link_support.hpp"

namespace troupe::testing {
namespace {

/// Short, for tests; busy machines do not wake a thread within a few milliseconds.
constexpr liveness short_times{2500ms};  // ten heartbeats of the least length

TEST(liveness, a_killed_peer_is_told_at_once) {
  link_end driver;  // with the time-outs of a run: it is the closed connection that tells
  auto worker = probe::echo_of(driver);
  worker.signal(SIGKILL);
  EXPECT_TRUE(driver.box().await_loss(2s));
}

TEST(liveness, an_actor_that_ends_is_told_at_once) {
  link_end driver;
  auto worker = probe::echo_of(driver);
  driver.answer(message_of("exit"));
  EXPECT_TRUE(driver.box().await_loss(2s));
  EXPECT_EQ(worker.listener().await_exit().value_or(exit_report{}).kind, exit_kind::exited);
}

TEST(liveness, a_frozen_peer_is_told_after_the_timeout) {
  link_end driver(short_times);
  auto worker = probe::echo_of(driver);
  const auto frozen = clock::now();
  worker.signal(SIGSTOP);
  EXPECT_TRUE(driver.box().await_loss(short_times.timeout + 2s));
  EXPECT_GE(clock::now() - frozen, short_times.timeout - 2 * short_times.heartbeat());
  // Whoever was taken for dead learns it when it goes on.
  worker.signal(SIGCONT);
  EXPECT_EQ(worker.listener().await_exit().value_or(exit_report{}).value, 3);
}

TEST(liveness, a_peer_that_lost_the_driver_knows) {
  auto driver = std::make_unique<link_end>();
  auto worker = probe::echo_of(*driver);
  driver.reset();
  const auto report = worker.listener().await_exit();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->value, 3);
}

TEST(liveness, an_idle_or_busy_peer_is_not_lost) {
  link_end driver(short_times);
  auto idle = probe::echo_of(driver);
  auto busy = probe::echo_of(driver);
  driver.answer(message_of("spin"));
  EXPECT_EQ(driver.box().next(), message_of("spin"));
  EXPECT_FALSE(driver.box().await_loss(3 * short_times.timeout));
  driver.answer(message_of("still there"));
  EXPECT_EQ(driver.box().next(), message_of("still there"));
}

}  // namespace
}  // namespace troupe::testing
