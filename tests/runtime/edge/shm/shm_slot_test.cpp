// Goal: slots hold messages of every size in place, grow without cutting, cost nothing once warm, and come back when
// they are no longer needed. Method: patterned payloads, the kernel's count of the memory's blocks, a codec that
// counts.
#include <array>
#include <chrono>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include "messages/limits.hpp"
#include "shm_test_support.hpp"

namespace troupe::testing {
namespace {

constexpr std::size_t mebibyte = 1u << 20;

/// Small sizes, sizes around powers of two and pages, and large ones.
std::size_t some_size(std::mt19937_64& random) {
  const std::size_t power = std::size_t{1} << random() % 24;
  switch (random() % 4) {
    case 0:
      return random() % 100;
    case 1:
      return power - random() % 2;
    case 2:
      return power + 1;
    default:
      return random() % (random() % 8 == 0 ? 8 * mebibyte : 64u << 10);
  }
}

TEST(shm_slot, carries_all_of_an_activation_with_every_part_present_or_not) {
  for (unsigned number = 0; number < 2 * 27; ++number) {
    const unsigned parts = number / 2;
    shm_edge edge({.slots = 1, .credits_per_ring = 1}, number % 2 == 0);
    activation given{{7, parts}, {100, 105}, nullptr, nullptr};
    const std::size_t sizes[] = {0, 0, 777};
    if (parts % 3 > 0) given.tensors = std::make_shared<const pattern>(1, sizes[parts % 3]);
    if (parts / 3 % 3 > 0) given.labels = std::make_shared<const pattern>(2, sizes[parts / 3 % 3]);
    if (parts / 9 == 1) given.rows = std::make_shared<const row_set>();
    if (parts / 9 == 2) given.rows = std::make_shared<const row_set>(row_set{0, 2, 4});
    const row_set_ptr rows = given.rows;
    const bool has_tensors = given.tensors != nullptr;
    const bool has_labels = given.labels != nullptr;
    ASSERT_EQ(edge.producer->try_send(given), send_status::sent);
    const auto got = edge.consumer->try_receive();
    ASSERT_TRUE(got) << edge.last_damage.cause;
    EXPECT_EQ(got->id, (micro_batch_id{7, parts}));
    EXPECT_EQ(got->samples, (sample_range{100, 105}));
    EXPECT_EQ(got->tensors != nullptr, has_tensors);
    EXPECT_EQ(got->labels != nullptr, has_labels);
    EXPECT_TRUE(!has_tensors || is_pattern(got->tensors, 1, sizes[parts % 3]));
    EXPECT_TRUE(!has_labels || is_pattern(got->labels, 2, sizes[parts / 3 % 3]));
    ASSERT_EQ(got->rows != nullptr, rows != nullptr);
    EXPECT_TRUE(!rows || *got->rows == *rows);
  }
}

TEST(shm_slot, grows_for_what_is_larger_and_cuts_nothing) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    shm_edge edge({.slots = static_cast<std::uint32_t>(1 + random() % 4), .credits_per_ring = 1});
    struct entry {
      std::size_t tensors, labels;
      activation held;
    };
    std::deque<entry> sent;
    std::vector<entry> held;
    std::uint64_t received = 0;
    for (std::uint64_t index = 0; index < 60;) {
      const std::size_t tensors = some_size(random);
      const std::size_t labels = random() % 1000;
      if (edge.send(index, tensors, labels) == send_status::sent) {
        sent.push_back({tensors, labels, {}});
        ++index;
      }
      while (auto got = edge.consumer->try_receive()) {
        EXPECT_EQ(got->id.index, received++);
        sent.front().held = std::move(*got);
        held.push_back(std::move(sent.front()));
        sent.pop_front();
      }
      if (held.empty() || random() % 2 == 0) continue;
      const auto done = held.begin() + static_cast<std::ptrdiff_t>(random() % held.size());
      // Read when others have been sent since: nothing moved under it.
      EXPECT_TRUE(is_pattern(done->held.tensors, done->held.id.index, done->tensors));
      EXPECT_TRUE(is_pattern(done->held.labels, ~done->held.id.index, done->labels));
      held.erase(done);
      edge.consumer->release();
    }
    EXPECT_EQ(edge.codec->misaligned, 0u);
    EXPECT_EQ(edge.consumer_damages + edge.producer_damages, 0u) << edge.last_damage.cause;
  }
}

TEST(shm_slot, former_extents_give_their_memory_back) {
  shm_edge edge({.slots = 1, .credits_per_ring = 1});
  for (std::size_t size = 1; size <= 4 * mebibyte; size *= 2) {
    ASSERT_EQ(edge.send(size, size, 1), send_status::sent);
    ASSERT_TRUE(edge.consumer->try_receive());
    edge.consumer->release();
    // control, payload with its rest of a page, labels
    EXPECT_LE(static_cast<std::size_t>(edge.status().st_blocks) * 512, 4096 + size + 2 * 4096) << size;
  }
}

TEST(shm_slot, once_warm_a_message_takes_no_memory_and_is_written_once) {
  shm_edge edge({.slots = 3, .credits_per_ring = 1});
  std::mt19937_64 random(5);
  const auto pass = [&](std::uint64_t index, std::size_t tensors) {
    ASSERT_EQ(edge.send(index, tensors, 64), send_status::sent);
    ASSERT_TRUE(edge.consumer->try_receive());
    edge.consumer->release();
  };
  for (std::uint64_t index = 0; index < 3; ++index) pass(index, 100'000);
  const struct stat warm = edge.status();
  for (std::uint64_t index = 3; index < 10'003; ++index) pass(index, random() % 100'000 / (1 + random() % 1000));
  EXPECT_EQ(edge.status().st_size, warm.st_size);
  EXPECT_EQ(edge.status().st_blocks, warm.st_blocks);
  EXPECT_EQ(edge.codec->writes, 2u * 10'003) << "tensors and labels, each once";
  EXPECT_EQ(edge.codec->reads, 2u * 10'003);
}

TEST(shm_slot, only_what_is_written_takes_memory) {
  shm_edge edge({.slots = 256, .credits_per_ring = 1});
  const auto before = edge.status().st_blocks;
  ASSERT_EQ(edge.send(0, mebibyte + 1, 1), send_status::sent);
  EXPECT_LE((edge.status().st_blocks - before) * 512, static_cast<blkcnt_t>(mebibyte + 2 * 4096));
}

TEST(shm_slot, what_no_slot_can_hold_is_refused_aloud_and_leaves_the_message) {
  shm_edge edge({.slots = 2, .credits_per_ring = 1});
  for (const std::uint64_t bytes : {limits::shm_slot_bytes_max + 1, ~std::uint64_t{0} - 1}) {
    activation message{{0, 5}, {0, 1}, std::make_shared<const pattern>(1, bytes), nullptr};
    try {
      (void)edge.producer->try_send(message);
      FAIL() << "sent";
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(std::to_string(limits::shm_slot_bytes_max)), std::string::npos) << e.what();
    }
    EXPECT_NE(message.tensors, nullptr);
  }
  EXPECT_EQ(edge.producer->credits(), 2u);
  EXPECT_EQ(edge.codec->writes, 0u);
  EXPECT_FALSE(edge.consumer->try_receive());
  EXPECT_EQ(edge.send(1, 10, 10), send_status::sent) << "the edge goes on";
  EXPECT_TRUE(is_pattern(edge.consumer->try_receive()->tensors, 1, 10));
}

TEST(shm_slot, a_codec_that_throws_leaves_message_and_edge_as_they_were) {
  shm_edge edge({.slots = 1, .credits_per_ring = 1});
  class untrusted_peer final : public payload {};
  activation message{{0, 5}, {0, 1}, std::make_shared<const pattern>(1, 10), std::make_shared<const untrusted_peer>()};
  EXPECT_THROW((void)edge.producer->try_send(message), std::bad_cast);
  EXPECT_NE(message.tensors, nullptr);
  EXPECT_EQ(edge.producer->credits(), 1u);
  EXPECT_FALSE(edge.consumer->try_receive());
  EXPECT_EQ(edge.send(1, 10, 10), send_status::sent);
  EXPECT_EQ(edge.consumer->try_receive()->id.index, 1u);
}

TEST(shm_slot, comes_back_when_released_and_no_longer_viewed) {
  shm_edge edge({.slots = 2, .credits_per_ring = 1});
  ASSERT_EQ(edge.send(0, 10, 10), send_status::sent);
  auto older = edge.consumer->try_receive();
  ASSERT_EQ(edge.send(1, 10, 10), send_status::sent);
  auto newer = edge.consumer->try_receive();
  const std::uint32_t quiet = edge.producer_bell->epoch();
  newer.reset();
  EXPECT_EQ(edge.producer->credits(), 0u) << "not released";
  edge.consumer->release();
  EXPECT_EQ(edge.producer->credits(), 1u) << "the newer one, as no view holds it";
  EXPECT_NE(edge.producer_bell->epoch(), quiet);
  EXPECT_TRUE(is_pattern(older->tensors, 0, 10));
  edge.consumer->release();
  EXPECT_EQ(edge.producer->credits(), 1u) << "released, but viewed";
  const payload_ptr last = older->labels;
  older.reset();
  ASSERT_EQ(edge.send(2, 10, 10), send_status::sent);
  EXPECT_EQ(edge.send(3, 10, 10), send_status::no_credit);
  EXPECT_TRUE(is_pattern(last, ~std::uint64_t{0}, 10));
}

class late_views : public ::testing::TestWithParam<std::uint32_t> {};

// With several credits per ring one release of all rings, whichever thread makes it.
TEST_P(late_views, give_slots_back_from_any_thread_and_ring) {
  constexpr std::uint64_t messages = 20'000;
  shm_edge edge({.slots = 4, .credits_per_ring = GetParam()});
  constexpr std::chrono::seconds limit{20};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> unrung{0};
  std::array<std::atomic<const activation*>, 2> boxes{};
  std::atomic<bool> done{false};
  std::vector<std::thread> viewers;
  for (auto& box : boxes) {
    viewers.emplace_back([&] {
      while (!done || box != nullptr) {
        const std::unique_ptr<const activation> seen(box.exchange(nullptr));
        if (!seen) std::this_thread::yield();
        if (seen && !is_pattern(seen->tensors, seen->id.index, seen->id.index % 5000)) ++wrong;
      }
    });
  }
  std::thread producer([&] {
    for (std::uint64_t index = 0; index < messages;) {
      const std::uint32_t epoch = edge.producer_bell->prepare_to_park();
      if (edge.send(index, index % 5000, 8) == send_status::no_credit) {
        // The wake of an earlier ring may come late and end this wait instead; only one that ran to its end was unrung.
        const auto parked = std::chrono::steady_clock::now();
        edge.producer_bell->wait(epoch, limit);
        if (std::chrono::steady_clock::now() - parked >= limit) ++unrung;
        continue;
      }
      edge.producer_bell->stay_awake();
      ++index;
    }
  });
  for (std::uint64_t received = 0; received < messages;) {
    auto got = edge.consumer->try_receive();
    if (!got) {
      std::this_thread::yield();
      continue;
    }
    if (got->id.index != received) ++wrong;
    // Released at once; the slot waits for the thread that views it.
    edge.consumer->release();
    const std::unique_ptr<const activation> replaced(boxes[received++ % 2].exchange(new activation(std::move(*got))));
    if (replaced && !is_pattern(replaced->tensors, replaced->id.index, replaced->id.index % 5000)) ++wrong;
  }
  producer.join();
  done = true;
  for (auto& each : viewers) each.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(unrung, 0u);
  EXPECT_EQ(edge.producer->credits(), 4u);
}

INSTANTIATE_TEST_SUITE_P(credits_per_ring, late_views, ::testing::Values(1, 2, 4));

TEST(shm_slot, views_outlive_both_ends) {
  auto edge = std::make_unique<shm_edge>(shm_edge_options{.slots = 1, .credits_per_ring = 1});
  ASSERT_EQ(edge->send(3, 1000, 10), send_status::sent);
  const auto got = edge->consumer->try_receive();
  edge.reset();
  EXPECT_TRUE(is_pattern(got->tensors, 3, 1000));
}

TEST(shm_slot, an_abandoned_end_is_silent_to_the_other) {
  shm_edge edge({.slots = 2, .credits_per_ring = 1});
  ASSERT_EQ(edge.send(0, 10, 10), send_status::sent);
  auto got = edge.consumer->try_receive();
  edge.consumer->release();
  edge.consumer->abandon();
  const std::uint32_t quiet = edge.producer_bell->epoch();
  got.reset();
  edge.consumer.reset();
  EXPECT_EQ(edge.producer->credits(), 1u);
  EXPECT_EQ(edge.producer_bell->epoch(), quiet);
  EXPECT_EQ(edge.send(1, 10, 10), send_status::sent);
  EXPECT_EQ(edge.send(2, 10, 10), send_status::no_credit);

  shm_edge other({.slots = 2, .credits_per_ring = 1});
  const std::uint32_t unrung = other.consumer_bell->epoch();
  other.producer->abandon();
  other.producer.reset();
  EXPECT_FALSE(other.consumer->exhausted());
  EXPECT_EQ(other.consumer_bell->epoch(), unrung);
}

TEST(shm_slot, an_edge_is_opened_once_on_each_side) {
  shm_edge edge({.slots = 2, .credits_per_ring = 1});
  ASSERT_EQ(edge.send(0, 1, 1), send_status::sent);
  ASSERT_TRUE(edge.consumer->try_receive());
  edge.consumer->release();
  const auto producer = open_shm_producer(edge.twin(), {nullptr, edge.codec, {}});
  ASSERT_FALSE(producer);
  EXPECT_EQ(producer.error().code, error_code::wire_malformed);
  EXPECT_FALSE(open_shm_consumer(edge.twin(), {nullptr, edge.codec, {}}));
}

}  // namespace
}  // namespace troupe::testing
