// Goal: a mark wakes the loader exactly when the loader waits for one, and none is ever missed. Method: counting the
// rings of a quiet bell; two threads hand marks to and fro, where a lost one would run into the deadline.
#include "runtime/ledger/low_water_cell.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

TEST(low_water_cell, rings_only_when_a_mark_is_waited_for) {
  doorbell bell;
  low_water_cell cell(bell);
  const std::uint32_t quiet = bell.epoch();
  cell.publish({0, 3});
  EXPECT_EQ(bell.epoch(), quiet);
  EXPECT_EQ(cell.take(), (micro_batch_id{0, 3}));
  EXPECT_EQ(cell.take(), std::nullopt);

  cell.wait_for_mark();
  cell.publish({0, 4});
  EXPECT_NE(bell.epoch(), quiet);
  EXPECT_EQ(cell.take(), (micro_batch_id{0, 4}));
  const std::uint32_t after = bell.epoch();
  cell.publish({0, 5});
  EXPECT_EQ(bell.epoch(), after) << "a take ends the waiting";
}

TEST(low_water_cell, keeps_the_greatest_mark) {
  doorbell bell;
  low_water_cell cell(bell);
  cell.publish({1, 0});
  cell.publish({0, 9});
  EXPECT_EQ(cell.take(), (micro_batch_id{1, 0}));
}

TEST(low_water_cell, no_mark_is_missed_between_two_threads) {
  constexpr std::uint64_t marks = 20'000;
  constexpr auto longest_wait = 20s;
  doorbell bell;
  low_water_cell cell(bell);
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> given_up{false};
  std::jthread publisher([&] {
    for (std::uint64_t mark = 1; mark <= marks; ++mark) {
      cell.publish({0, mark});
      while (taken.load() < mark && !given_up) std::this_thread::yield();
    }
  });
  while (taken.load() < marks && !given_up) {
    cell.wait_for_mark();
    const std::uint32_t epoch = bell.prepare_to_park();
    auto mark = cell.take();
    if (!mark) {
      const auto start = std::chrono::steady_clock::now();
      bell.wait(epoch, longest_wait);
      given_up = std::chrono::steady_clock::now() - start >= longest_wait;
      mark = cell.take();
    } else {
      bell.stay_awake();
    }
    if (mark) taken = mark->index;
  }
  EXPECT_FALSE(given_up) << "a mark was published while it was waited for, and did not ring";
  EXPECT_EQ(taken, marks);
}

}  // namespace
}  // namespace troupe::testing
