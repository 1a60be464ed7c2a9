// Goal: an edge between two processes keeps the contract, and the death of either at any instant is silence. Method: a
// forked child is one end; streams with parking, flushes and closes; SIGKILL at random moments. No time is measured but
// the stall limit, which only a lost wake-up reaches.
#include <deque>

#include "shm_process_support.hpp"

namespace troupe::testing {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t stream_messages = 10'000;
#else
constexpr std::uint64_t stream_messages = 30'000;
#endif

/// Sends indices 0..count with a flush after each call, and closes. False if a wake-up was lost; true at once if the
/// consumer closes.
bool produce(shared_ground& ground, const plan& plan, std::uint64_t count, std::uint64_t& parks) {
  std::mt19937_64 random(count);
  const auto out = ground.producer();
  for (std::uint64_t index = 0; index < count; ++index) {
    activation next = plan.message(index);
    send_status status = send_status::no_credit;
    if (!park_until(*ground.producer_bell, random() % plan.spins_max, parks, [&] {
          status = out->try_send(next);
          return status != send_status::no_credit;
        })) {
      return false;
    }
    if (status == send_status::closed) return true;
    if ((index + 1) % plan.run_length == 0) out->send_flush(index / plan.run_length);
  }
  return ground.damages == 0;
}

struct outcome {
  std::uint64_t received = 0;
  std::uint64_t wrong = 0;
  bool exhausted = false;
};

/// Receives until exhausted or `at_most` messages; holds some, and releases all when it has to wait.
outcome consume(shared_ground& ground, edge_consumer& in, const plan& plan, std::uint64_t at_most,
                std::uint64_t& parks) {
  std::mt19937_64 random(at_most);
  outcome seen;
  std::deque<activation> held;
  const auto let_go = [&] {
    for (; !held.empty(); held.pop_front()) {
      const std::uint64_t index = held.front().id.index;
      if (!plan.is_whole(held.front(), index)) ++seen.wrong;
      in.release();  // before its view ends, as often as not
    }
  };
  while (seen.received < at_most) {
    std::optional<activation> got;
    if (!park_until(*ground.consumer_bell, random() % plan.spins_max, parks, [&] {
          const auto ended = in.flushed_through();
          if (ended && seen.received < (*ended + 1) * plan.run_length) ++seen.wrong;
          got = in.try_receive();
          if (!got) let_go();
          return got.has_value() || in.exhausted();
        })) {
      ++seen.wrong;
    }
    if (!got) break;
    if (!plan.is_whole(*got, seen.received)) ++seen.wrong;
    ++seen.received;
    held.push_back(std::move(*got));
    if (random() % 4 == 0) let_go();
  }
  let_go();
  seen.exhausted = in.exhausted();
  seen.wrong += ground.damages;
  return seen;
}

class shm_process : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
#endif
  }

  std::uint64_t parks = 0;
};

TEST_F(shm_process, streams_from_a_child_that_parks) {
  constexpr std::pair<std::uint32_t, std::uint32_t> slots_and_ring[] = {{1, 1}, {2, 1}, {3, 2}, {16, 8}};
  for (const auto& [slots, per_ring] : slots_and_ring) {
    SCOPED_TRACE(slots);
    shared_ground ground({slots, per_ring});
    child producer([&] { return produce(ground, {}, stream_messages, parks); });
    const auto in = ground.consumer();
    const outcome seen = consume(ground, *in, {}, stream_messages + 1, parks);
    EXPECT_EQ(seen.received, stream_messages);
    EXPECT_EQ(seen.wrong, 0u);
    EXPECT_TRUE(seen.exhausted);
    EXPECT_EQ(in->flushed_through(), stream_messages / plan{}.run_length - 1);
    EXPECT_TRUE(producer.succeeded());
    EXPECT_GT(std::exchange(parks, 0), 0u) << "no end parked: nothing was shown about wake-ups";
  }
}

TEST_F(shm_process, streams_to_a_child_that_parks) {
  shared_ground ground({2, 1});
  child consumer([&] {
    const auto in = ground.consumer();
    const outcome seen = consume(ground, *in, {}, stream_messages + 1, parks);
    return seen.received == stream_messages && seen.wrong == 0 && seen.exhausted;
  });
  EXPECT_TRUE(produce(ground, {}, stream_messages, parks));
  EXPECT_TRUE(consumer.succeeded());
}

TEST_F(shm_process, slots_grow_under_a_consumer_in_another_process) {
  shared_ground ground({3, 1});
  constexpr plan large{.run_length = 7, .tensors_max = 8u << 20};
  child producer([&] { return produce(ground, large, 60, parks); });
  const auto in = ground.consumer();
  const outcome seen = consume(ground, *in, large, 100, parks);
  EXPECT_EQ(seen.received, 60u);
  EXPECT_EQ(seen.wrong, 0u);
  EXPECT_TRUE(producer.succeeded());
}

TEST_F(shm_process, either_end_may_close_at_any_moment) {
  for (std::uint64_t round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    shared_ground ground({static_cast<std::uint32_t>(1 + round % 5), static_cast<std::uint32_t>(1 + round % 3)});
    const bool consumer_closes = round % 2 == 0;
    const std::uint64_t count = round % 23;
    child producer([&] { return produce(ground, {}, consumer_closes ? 1'000'000 : count, parks); });
    auto in = ground.consumer();
    const outcome seen = consume(ground, *in, {}, consumer_closes ? count : 100, parks);
    in.reset();
    EXPECT_EQ(seen.received, count);
    EXPECT_EQ(seen.wrong, 0u);
    EXPECT_TRUE(producer.succeeded());
  }
}

/// Spins for a random while, so that the kill falls anywhere.
void some_work(std::mt19937_64& random) {
  std::atomic<std::uint64_t> done{0};
  for (const std::uint64_t todo = random() % 30'000; done < todo;) ++done;
}

TEST_F(shm_process, a_killed_producer_has_sent_whole_messages_or_nothing) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    shared_ground ground({static_cast<std::uint32_t>(1 + random() % 4), 1});
    // Flushed after each message; large ones, so that most kills fall into a write, and small ones for the rest.
    const plan each{.run_length = 1, .tensors_max = seed % 2 == 0 ? 300u : 1u << 20};
    child producer([&] { return produce(ground, each, 10'000'000, parks); });
    const auto in = ground.consumer();
    const std::uint64_t first = random() % 30;
    const outcome before = consume(ground, *in, each, first, parks);
    ASSERT_EQ(before.received, first);
    some_work(random);
    producer.kill();
    std::uint64_t received = before.received;
    for (; const auto got = in->try_receive(); ++received) {
      EXPECT_TRUE(each.is_whole(*got, received));
      in->release();
    }
    EXPECT_LE(received, first + 4) << "no more than there are slots";
    EXPECT_EQ(before.wrong, 0u);
    EXPECT_LT(in->flushed_through().value_or(0), std::max<std::uint64_t>(received, 1));
    EXPECT_FALSE(in->exhausted());
    EXPECT_FALSE(in->try_receive());
    EXPECT_EQ(ground.damages, 0u);
  }
}

TEST_F(shm_process, a_killed_consumer_gives_no_more_credit_and_nothing_else) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto slots = static_cast<std::uint32_t>(1 + random() % 4);
    shared_ground ground({slots, 1});
    child consumer([&] {
      const auto in = ground.consumer();
      return consume(ground, *in, {}, 10'000'000, parks).wrong == 0;
    });
    const auto out = ground.producer();
    std::uint64_t sent = 0;
    const auto send = [&] {
      activation next = plan{}.message(sent);
      const send_status status = out->try_send(next);
      if (status == send_status::sent) ++sent;
      return status;
    };
    for (const std::uint64_t first = random() % 60; sent < first;) {
      const std::uint64_t target = sent;
      ASSERT_TRUE(park_until(*ground.producer_bell, random() % 512, parks, [&] { return send(), sent > target; }));
    }
    some_work(random);
    consumer.kill();
    const std::uint64_t at_death = sent;
    while (send() == send_status::sent) EXPECT_LE(out->credits(), slots);
    EXPECT_LE(sent - at_death, slots);
    EXPECT_EQ(send(), send_status::no_credit);
    out->send_flush(1);
    out->close();
    EXPECT_EQ(ground.damages, 0u);
  }
}

}  // namespace
}  // namespace troupe::testing
