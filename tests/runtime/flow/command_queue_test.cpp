// Goal: commands reach the engine exactly once, in each sender's order, with a ring for each, and never more than fit.
// Method: one thread step by step; then several senders against one engine-like reader that parks.
#include "runtime/flow/command_queue.hpp"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

using std::chrono::steady_clock;

TEST(command_queue, keeps_the_order_and_rings_for_each) {
  doorbell bell;
  command_queue<int> queue(bell);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_TRUE(queue.push(1));
  EXPECT_TRUE(queue.push(2));
  EXPECT_EQ(bell.epoch(), 2u);
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(command_queue, refuses_what_does_not_fit_without_a_ring) {
  doorbell bell;
  command_queue<int> queue(bell);
  for (std::uint32_t i = 0; i < limits::commands_queued_max; ++i) ASSERT_TRUE(queue.push(static_cast<int>(i)));
  const std::uint32_t epoch = bell.epoch();
  EXPECT_FALSE(queue.push(-1));
  EXPECT_EQ(bell.epoch(), epoch);
  EXPECT_EQ(queue.pop(), 0);
  EXPECT_TRUE(queue.push(-2));
}

TEST(command_queue, takes_the_end_once_and_behind_all_others_even_when_full) {
  doorbell bell;
  command_queue<int> queue(bell, 2);
  ASSERT_TRUE(queue.push(1));
  ASSERT_TRUE(queue.push(2));
  const std::uint32_t epoch = bell.epoch();
  queue.push_end(3);
  EXPECT_EQ(bell.epoch(), epoch + 1);
  EXPECT_FALSE(queue.push(4));
  queue.push_end(5);
  for (const int each : {1, 2, 3}) EXPECT_EQ(queue.pop(), each);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_TRUE(queue.push(6)) << "an engine hears of a new listener behind its end";
}

TEST(command_queue, moves_commands_that_cannot_be_copied) {
  doorbell bell;
  command_queue<std::unique_ptr<int>> queue(bell, 1);
  EXPECT_TRUE(queue.push(std::make_unique<int>(7)));
  EXPECT_EQ(**queue.pop(), 7);
}

TEST(command_queue, many_senders_one_parking_reader) {
  constexpr int senders = 3;
  constexpr int each = 5'000;
  constexpr std::chrono::seconds stall_limit{20};
  doorbell bell;
  command_queue<std::pair<int, int>> queue(bell, 64);
  std::vector<std::thread> threads;
  for (int sender = 0; sender < senders; ++sender) {
    threads.emplace_back([&queue, sender] {
      for (int i = 0; i < each;) {
        if (queue.push({sender, i}))
          ++i;
        else
          std::this_thread::yield();
      }
    });
  }
  std::vector<int> next(senders, 0);
  int received = 0;
  int stalls = 0;
  while (received < senders * each && stalls == 0) {
    auto command = queue.pop();
    if (!command) {
      const std::uint32_t epoch = bell.prepare_to_park();
      command = queue.pop();
      if (command) {
        bell.stay_awake();
      } else {
        const auto start = steady_clock::now();
        bell.wait(epoch, stall_limit);
        if (steady_clock::now() - start >= stall_limit) ++stalls;
        continue;
      }
    }
    ASSERT_EQ(command->second, next[static_cast<std::size_t>(command->first)]++);
    ++received;
  }
  EXPECT_EQ(stalls, 0) << "a wake-up was lost";
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace troupe::testing
