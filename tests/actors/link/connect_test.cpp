// Goal: a worker that joins its driver ends by its deadline, whatever is at the other end, and says why; and a driver
// waits for a worker that starts as long as it takes. Method: both ends of links in one process.
#include <future>

#include <sys/socket.h>

#include "tests/actors/link/link_support.hpp"
#include "tests/actors/link/raw_end.hpp"

namespace troupe::testing {
namespace {

std::pair<unique_fd, unique_fd> link() {
  return *make_link();
}

TEST(greeting_a_driver, that_is_gone_fails_at_once) {
  auto [driver, worker] = link();
  driver.reset();
  const auto began = clock::now();
  const auto greeted = greet_driver(worker, began + 10s);
  ASSERT_FALSE(greeted);
  EXPECT_EQ(greeted.error().code, error_code::peer_lost);
  EXPECT_LT(clock::now() - began, 2s);
}

TEST(greeting_a_driver, that_is_silent_ends_at_the_deadline) {
  const auto [driver, worker] = link();
  const auto began = clock::now();
  const auto greeted = greet_driver(worker, began + 300ms);
  ASSERT_FALSE(greeted);
  EXPECT_EQ(greeted.error().code, error_code::peer_lost);
  EXPECT_FALSE(greeted.error().cause.empty() || greeted.error().fix.empty());
  EXPECT_GE(clock::now() - began, 300ms);
  EXPECT_LT(clock::now() - began, 2s);
}

TEST(greeting_a_driver, that_closes_the_link_fails_at_once) {
  auto [driver, worker] = link();
  raw_end other(std::move(driver));
  other.say("x");
  EXPECT_TRUE(greet_driver(worker, clock::now() + 10s));  // something came
  auto [gone, next] = link();
  ASSERT_EQ(::shutdown(gone.get(), SHUT_WR), 0);
  EXPECT_EQ(greet_driver(next, clock::now() + 10s).error().code, error_code::peer_lost);
}

TEST(joining_a_driver, that_says_no_more_ends_in_time) {
  for (const auto at_most : {-1ms, 0ms, 1ms, 100ms, 1500ms}) {
    link_end worker({1000ms});
    auto [driver, mine] = link();
    const auto began = clock::now();
    const auto joined = join_driver(worker.system(), std::move(mine), began + at_most);
    ASSERT_FALSE(joined);
    EXPECT_EQ(joined.error().code, error_code::peer_lost);
    EXPECT_LT(clock::now() - began, at_most + 1s);
  }
}

TEST(joining_a_driver, finds_the_actor_that_its_link_offers) {
  std::promise<void> told;
  link_end driver;
  link_end worker;
  const wire_actor other = driver.system().spawn([&](wire_actor::pointer self) -> wire_actor::behavior_type {
    return {[self, &told](const wire_message&) {
      told.set_value();
      self->quit();
    }};
  });
  auto first = driver.offer();
  auto second = driver.offer(other);
  // In the other order, so that each has to be told what is its own.
  const auto second_found = worker.join(std::move(second));
  const auto first_found = worker.join(std::move(first));
  ASSERT_TRUE(first_found && second_found);
  EXPECT_EQ(first_found->id(), driver.actor().id());
  EXPECT_EQ(second_found->id(), other.id());
  post(*second_found, message_of("end"));
  // The worker's system must not end before it has sent the message: the actor would live on, and the driver's wait.
  EXPECT_EQ(told.get_future().wait_for(10s), std::future_status::ready);
  caf::anon_send_exit(other, caf::exit_reason::kill);
}

TEST(joining_a_driver, is_possible_long_after_the_time_out_for_silent_ends) {
  link_end driver({1000ms});
  auto late = driver.offer();
  EXPECT_FALSE(driver.box().await_loss(3 * driver.times().timeout));
  link_end worker({1000ms});
  const auto found = worker.join(std::move(late));
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->id(), driver.actor().id());
}

TEST(joining_a_driver, succeeds_for_many_at_once) {
  link_end driver;
  std::vector<raw_end> crowd;
  for (int i = 0; i < 64; ++i) crowd.emplace_back(driver.offer());
  for (raw_end& each : crowd) each.say(greeting());
  for (raw_end& each : crowd) EXPECT_TRUE(each.is_answered_within(patience));
}

TEST(a_link, is_closed_for_another_greeting) {
  link_end driver;
  for (const char* said : {"\x01", "x", "GET / HTTP/1.1\r\n"}) {
    raw_end worker(driver.offer());
    worker.say(said);
    EXPECT_TRUE(worker.is_closed_within(patience));
  }
  auto probe = probe::echo_of(driver);
}

}  // namespace
}  // namespace troupe::testing
