// The edge contract between two threads, spinning and parking: order, exactly once, flushes, closing at any moment, and
// no lost wake-up. No time is measured but the stall limit: only a lost wake-up lets a wait run that long.
#pragma once

#include <array>
#include <chrono>
#include <thread>

#include "edge_contract_support.hpp"

namespace troupe::testing {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr std::uint64_t stress_messages = 20'000;
#else
inline constexpr std::uint64_t stress_messages = 100'000;
#endif
/// Some waits end while spinning, some after a park, most close to the border between the two.
inline constexpr std::uint64_t spins_max = 1024;
inline constexpr std::chrono::seconds stall_limit{20};

/// Repeats `attempt` until it is true, parking on `bell` after `spins` vain attempts. False if a wait ran into the
/// limit.
template <class Attempt>
[[nodiscard]] bool park_until(doorbell& bell, std::uint64_t spins, std::atomic<std::uint64_t>& parks, Attempt attempt) {
  for (;;) {
    for (std::uint64_t i = 0; i <= spins; ++i) {
      if (attempt()) return true;
    }
    const std::uint32_t epoch = bell.prepare_to_park();
    if (attempt()) {
      bell.stay_awake();
      return true;
    }
    const auto start = std::chrono::steady_clock::now();
    bell.wait(epoch, stall_limit);
    ++parks;
    if (std::chrono::steady_clock::now() - start >= stall_limit) return false;
  }
}

template <class Backend>
class edge_thread_contract : public edge_fixture<Backend> {
 protected:
  /// How many messages this backend gets.
  static constexpr std::uint64_t stress = stress_messages / edge_fixture<Backend>::share_of_stress;

  /// Sends indices 0..count, a flush after every `run_length` messages (each such run is a call), and closes.
  void produce(std::uint64_t count, std::uint64_t run_length, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    edge_producer& out = *this->ends.producer;
    for (std::uint64_t index = 0; index < count; ++index) {
      activation next = this->message(index, index / run_length);
      send_status status = send_status::no_credit;
      const bool rung = park_until(this->producer_bell, random() % spins_max, parks, [&] {
        status = out.try_send(next);
        return status != send_status::no_credit;
      });
      if (!rung) ++stalls;
      if (!rung || status == send_status::closed) break;
      if ((index + 1) % run_length == 0) out.send_flush(index / run_length);
    }
    out.close();
  }

  /// Receives until exhausted or `at_most` messages. Holds a random number of them, but none while it waits for more: a
  /// producer that is rung for several credits relies on that.
  std::uint64_t consume(std::uint64_t at_most, std::uint64_t run_length, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    edge_consumer& in = *this->ends.consumer;
    std::uint64_t received = 0;
    std::uint64_t held = 0;
    const auto release_all = [&] {
      for (; held > 0; --held) in.release();
    };
    while (received < at_most) {
      std::optional<activation> got;
      const bool rung = park_until(this->consumer_bell, random() % spins_max, parks, [&] {
        const auto ended = in.flushed_through();
        if (ended && received < (*ended + 1) * run_length) ++early_flushes;
        got = in.try_receive();
        if (!got) release_all();
        return got.has_value() || in.exhausted();
      });
      if (!rung) ++stalls;
      if (!got) break;
      if (got->id != micro_batch_id{received / run_length, received}) ++out_of_order;
      ++received;
      ++held;
      if (random() % 4 == 0) release_all();
    }
    release_all();
    return received;
  }

  void expect_flawless() {
    EXPECT_EQ(stalls, 0u) << "a wake-up was lost";
    EXPECT_EQ(early_flushes, 0u);
    EXPECT_EQ(out_of_order, 0u);
  }

  std::atomic<std::uint64_t> stalls{0};
  std::atomic<std::uint64_t> parks{0};
  std::atomic<std::uint64_t> early_flushes{0};
  std::atomic<std::uint64_t> out_of_order{0};
};
TYPED_TEST_SUITE_P(edge_thread_contract);

TYPED_TEST_P(edge_thread_contract, streams_between_threads_that_park) {
  constexpr std::uint64_t run_length = 100;
  constexpr std::pair<std::uint32_t, std::uint32_t> slots_and_ring[] = {{1, 1},  {2, 1},  {2, 2},  {3, 2},
                                                                        {16, 1}, {16, 8}, {16, 16}};
  for (const auto& [slots, per_ring] : slots_and_ring) {
    SCOPED_TRACE(::testing::Message() << slots << " slots, ring at " << per_ring);
    this->open(slots, per_ring);
    std::thread producer([this, seed = slots] { this->produce(TestFixture::stress, run_length, seed); });
    EXPECT_EQ(this->consume(TestFixture::stress + 1, run_length, per_ring), TestFixture::stress);
    producer.join();
    EXPECT_TRUE(this->ends.consumer->exhausted());
    EXPECT_EQ(this->ends.consumer->flushed_through(), TestFixture::stress / run_length - 1);
    this->await_drops();
    EXPECT_EQ(this->ends.producer->credits(), slots);
    EXPECT_EQ(this->alive, 0);
    EXPECT_GT(this->parks.exchange(0), 0u) << "no end parked: nothing was shown about wake-ups";
    this->expect_flawless();
  }
}

TYPED_TEST_P(edge_thread_contract, the_producer_may_close_at_any_moment) {
  for (std::uint64_t count = 0; count < TestFixture::stress / 200; ++count) {
    this->open(static_cast<std::uint32_t>(1 + count % 5));
    std::thread producer([this, count] { this->produce(count % 23, 5, count); });
    EXPECT_EQ(this->consume(100, 5, count), count % 23);
    producer.join();
    this->expect_flawless();
  }
}

TYPED_TEST_P(edge_thread_contract, the_consumer_may_close_at_any_moment) {
  for (std::uint64_t round = 0; round < TestFixture::stress / 200; ++round) {
    this->open(static_cast<std::uint32_t>(1 + round % 5), static_cast<std::uint32_t>(1 + round % 3));
    std::thread producer([this, round] { this->produce(1'000'000, 5, round); });
    EXPECT_EQ(this->consume(round % 23, 5, round), round % 23);
    this->ends.consumer->close();
    producer.join();
    this->ends = {};
    this->await_drops();
    EXPECT_EQ(this->alive, 0) << "what was sent while the consumer closed is dropped with the edge";
    this->expect_flawless();
  }
}

// One message and a close per edge, sent while the other thread asks again and again: a stream would try this moment
// once.
TYPED_TEST_P(edge_thread_contract, a_close_never_overtakes_what_was_sent) {
  constexpr std::size_t rounds = TestFixture::stress / 10;
  // Two at a time, as an edge may be two descriptors.
  std::array<edge_ends, 2> edges;
  std::atomic<std::size_t> made{0};
  std::atomic<std::size_t> closed{0};
  std::thread producer([&] {
    for (std::size_t i = 0; i < rounds; ++i) {
      activation last = this->message(i);
      while (made.load(std::memory_order_acquire) <= i) std::this_thread::yield();
      edge_producer& out = *edges[i % 2].producer;
      if (out.try_send(last) != send_status::sent) ++this->out_of_order;
      out.close();
      closed.store(i + 1, std::memory_order_release);
    }
  });
  std::uint64_t overtaken = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    while (closed.load(std::memory_order_acquire) + 1 < i) std::this_thread::yield();
    edge_consumer& in = *(edges[i % 2] = this->backend.factory().make({})).consumer;
    made.store(i + 1, std::memory_order_release);
    // Most of the time is spent in exhausted(), so that the close comes in the middle of that call.
    std::uint64_t received = 0;
    for (std::uint64_t turn = 0; !in.exhausted(); ++turn) {
      if (turn % 64 != 63) continue;
      received += in.try_receive() ? 1u : 0u;
      if (turn % 8192 == 8191) std::this_thread::yield();  // where both threads share a core
    }
    overtaken += received == 1 ? 0u : 1u;
  }
  producer.join();
  EXPECT_EQ(overtaken, 0u) << "exhausted, though something was sent";
  this->expect_flawless();
}

REGISTER_TYPED_TEST_SUITE_P(edge_thread_contract, streams_between_threads_that_park,
                            the_producer_may_close_at_any_moment, the_consumer_may_close_at_any_moment,
                            a_close_never_overtakes_what_was_sent);

}  // namespace troupe::testing
