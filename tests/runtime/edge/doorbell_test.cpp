// Goal: a doorbell loses no wake-up. Method: threads that can only go on if every ring is heard, with a wait limit that
// nothing but a lost wake-up reaches; the number of waits that reached it must be 0.
#include "runtime/edge/doorbell.hpp"

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/os/shared_memory.hpp"

namespace troupe::testing {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::seconds stall_limit{20};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint32_t rounds = 20'000;
#else
constexpr std::uint32_t rounds = 100'000;
#endif

/// Parks until `word` has reached `value`; counts the waits that ran into the limit and then gives up.
bool await(doorbell& bell, const std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint32_t& stalls) {
  const auto reached = [&] { return word.load(std::memory_order_acquire) >= value; };
  while (!reached()) {
    const std::uint32_t epoch = bell.prepare_to_park();
    if (reached()) {
      bell.stay_awake();
      return true;
    }
    const auto start = steady_clock::now();
    bell.wait(epoch, stall_limit);
    if (steady_clock::now() - start >= stall_limit) {
      ++stalls;
      return false;
    }
  }
  return true;
}

/// A random while, so that rings and parks meet at every distance.
void some_work(std::mt19937& random) {
  std::atomic<std::uint32_t> done{0};
  for (std::uint32_t todo = random() % 256; done.load(std::memory_order_relaxed) < todo;) {
    done.fetch_add(1, std::memory_order_relaxed);
  }
}

/// One side of a ping-pong: raises its own word, rings, waits for the other's.
struct side {
  std::atomic<std::uint32_t> word{0};
  doorbell bell;
  std::uint32_t stalls = 0;

  void play(side& other, bool serves, std::uint32_t seed) {
    std::mt19937 random(seed);
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      if (!serves && !await(bell, other.word, round, stalls)) return;
      some_work(random);
      word.store(round, std::memory_order_release);
      other.bell.ring();
      if (serves && !await(bell, other.word, round, stalls)) return;
    }
  }
};

TEST(doorbell, two_threads_that_wake_each_other_never_stall) {
  side left;
  side right;
  std::thread other([&] { right.play(left, false, 2); });
  left.play(right, true, 1);
  other.join();
  EXPECT_EQ(left.stalls + right.stalls, 0u);
  EXPECT_EQ(left.word, rounds);
  EXPECT_EQ(right.word, rounds);
}

TEST(doorbell, hears_the_last_of_many_ringers) {
  constexpr std::uint32_t ringers = 3;
  doorbell bell;
  std::atomic<std::uint32_t> published{0};
  std::atomic<std::uint32_t> consumed{0};
  std::uint32_t stalls = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < ringers; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(i);
      for (std::uint32_t round = 0; round < rounds / 10; ++round) {
        some_work(random);
        published.fetch_add(1, std::memory_order_release);
        bell.ring();
        // In step with the parker, so that it parks between the rounds and not only at the end.
        while (consumed.load(std::memory_order_acquire) < round * ringers) std::this_thread::yield();
      }
    });
  }
  std::uint32_t seen = 0;
  while (seen < ringers * (rounds / 10) && await(bell, published, seen + 1, stalls)) {
    seen = published.load(std::memory_order_acquire);
    consumed.store(seen, std::memory_order_release);
  }
  consumed.store(UINT32_MAX, std::memory_order_release);
  for (auto& each : threads) each.join();
  EXPECT_EQ(stalls, 0u);
  EXPECT_EQ(seen, ringers * (rounds / 10));
}

TEST(doorbell, a_ring_before_the_wait_ends_it_at_once) {
  doorbell bell;
  const std::uint32_t epoch = bell.prepare_to_park();
  bell.ring();
  const auto start = steady_clock::now();
  bell.wait(epoch, stall_limit);
  EXPECT_LT(steady_clock::now() - start, stall_limit);
  EXPECT_NE(bell.epoch(), epoch);
}

TEST(doorbell, a_wait_that_nobody_rings_for_ends_at_its_limit) {
  doorbell bell;
  bell.ring();
  const std::uint32_t epoch = bell.prepare_to_park();
  const auto start = steady_clock::now();
  while (steady_clock::now() - start < 2ms) bell.wait(epoch, 2ms);  // a spurious return is allowed
  EXPECT_EQ(bell.epoch(), epoch);
  bell.wait(bell.prepare_to_park(), 0ns);
  bell.wait(bell.prepare_to_park(), -1ns);
}

TEST(doorbell, who_stayed_awake_can_park_again) {
  doorbell bell;
  (void)bell.prepare_to_park();
  bell.ring();
  bell.stay_awake();
  const std::uint32_t epoch = bell.prepare_to_park();
  std::thread ringer([&] { bell.ring(); });
  const auto start = steady_clock::now();
  while (bell.epoch() == epoch) bell.wait(epoch, stall_limit);
  EXPECT_LT(steady_clock::now() - start, stall_limit);
  ringer.join();
}

// The same words at two addresses, as two processes see them.
TEST(doorbell, over_shared_words_is_heard_through_another_mapping) {
  const auto memory = shared_memory::create("troupe-bell", sizeof(doorbell_words));
  ASSERT_TRUE(memory);
  const auto here = memory->map(0, sizeof(doorbell_words));
  const auto there = memory->map(0, sizeof(doorbell_words));
  ASSERT_TRUE(here && there);
  doorbell parked_on(reinterpret_cast<doorbell_words&>(here->bytes()[0]));
  doorbell rung(reinterpret_cast<doorbell_words&>(there->bytes()[0]));
  std::atomic<std::uint32_t> published{0};
  std::atomic<std::uint32_t> consumed{0};
  std::uint32_t stalls = 0;
  std::thread ringer([&] {
    std::mt19937 random(3);
    for (std::uint32_t round = 1; round <= rounds / 10; ++round) {
      while (consumed.load(std::memory_order_acquire) + 1 < round) std::this_thread::yield();
      some_work(random);
      published.store(round, std::memory_order_release);
      rung.ring();
    }
  });
  for (std::uint32_t round = 1; round <= rounds / 10 && await(parked_on, published, round, stalls); ++round) {
    consumed.store(round, std::memory_order_release);
  }
  consumed.store(UINT32_MAX - 1, std::memory_order_release);
  ringer.join();
  EXPECT_EQ(stalls, 0u);
  EXPECT_EQ(parked_on.epoch(), rounds / 10);
}

}  // namespace
}  // namespace troupe::testing
