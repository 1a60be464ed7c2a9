// Goal: an engine's inbound edges give the parts of one micro-batch at a time, and every slot comes back. Method: real
// edges in one thread, fed by hand in the orders that differ; credits are counted on the sending side.
#include <random>

#include <gmock/gmock.h>

#include "feeding.hpp"

namespace troupe::testing {
namespace {

constexpr gather_options as_they_come{};

TEST(gather, takes_from_its_edges_in_turn_when_there_is_no_order_to_keep) {
  feeding given{as_they_come, {0, 0, 0}};
  for (const std::uint64_t index : {7u, 3u}) ASSERT_TRUE(given.send(0, {0, index}));
  ASSERT_TRUE(given.send(2, {0, 1}));
  EXPECT_EQ(given.take(), "0.7 by 0");
  EXPECT_EQ(given.take(), "0.1 by 2") << "edge 1 is empty, and edge 0 had its turn";
  EXPECT_EQ(given.take(), "0.3 by 0");
  EXPECT_EQ(given.take(), "");
}

TEST(gather, keeps_the_slot_of_a_part_until_it_is_released) {
  feeding given{two_ports, {0, 1}, 1};
  ASSERT_TRUE(given.send(0, {0, 0}) && given.send(1, {0, 0}));
  EXPECT_EQ(given.hold(), "0.0 by 0, 0.0 by 1");
  EXPECT_EQ(given.credits(0) + given.credits(1), 0u);
  given.inbound.release();
  EXPECT_EQ(given.credits(0) + given.credits(1), 2u);
}

TEST(gather, waits_until_every_port_has_a_part_of_the_same_id) {
  feeding given{two_ports, {0, 1}};
  ASSERT_TRUE(given.send(0, {0, 0}) && given.send(0, {0, 1}));
  EXPECT_EQ(given.take(), "");
  ASSERT_TRUE(given.send(1, {0, 0}));
  EXPECT_EQ(given.take(), "0.0 by 0, 0.0 by 1");
  EXPECT_EQ(given.take(), "");
  ASSERT_TRUE(given.send(1, {0, 1}));
  EXPECT_EQ(given.take(), "0.1 by 0, 0.1 by 1");
}

TEST(gather, orders_parts_by_port_and_not_by_edge) {
  feeding given{two_ports, {1, 0}};
  ASSERT_TRUE(given.send(0, {0, 0}) && given.send(1, {0, 0}));
  EXPECT_EQ(given.take(), "0.0 by 1, 0.0 by 0");
}

TEST(gather, merges_the_replicas_behind_a_port_by_id) {
  feeding given{in_order, {0, 0}};
  ASSERT_TRUE(given.send(0, {0, 1}) && given.send(0, {0, 2}));
  EXPECT_EQ(given.take(), "") << "id 0 is under way on the other edge";
  ASSERT_TRUE(given.send(1, {0, 0}) && given.send(1, {0, 3}));
  EXPECT_EQ(given.take(), "0.0 by 1");
  EXPECT_EQ(given.take(), "0.1 by 0");
  EXPECT_EQ(given.take(), "0.2 by 0");
  EXPECT_EQ(given.take(), "0.3 by 1");
}

/// Whatever the edges deliver first: port 0 behind two replicas that pull, port 1 behind one.
TEST(gather, gives_every_id_once_and_ascending_for_every_order_of_delivery) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random{seed};
    feeding given{two_ports, {0, 0, 1}, 3};
    std::vector<std::vector<std::uint64_t>> to_send(3);
    for (std::uint64_t index = 0; index < 20; ++index) {
      to_send[random() % 2].push_back(index);
      to_send[2].push_back(index);
    }
    std::vector<std::size_t> sent(3, 0);
    std::uint64_t taken = 0;
    for (int moves = 0; moves < 2000 && taken < 20; ++moves) {
      const std::size_t edge = random() % 4;
      if (edge == 3) {
        const std::string text = given.take();
        if (text.empty()) continue;
        ASSERT_TRUE(text.starts_with("0." + std::to_string(taken) + " by ")) << text << ", seed " << seed;
        ASSERT_TRUE(text.ends_with("0." + std::to_string(taken) + " by 2")) << text << ", seed " << seed;
        ++taken;
      } else if (sent[edge] < to_send[edge].size() && given.send(edge, {0, to_send[edge][sent[edge]]})) {
        ++sent[edge];
      }
    }
    ASSERT_EQ(taken, 20u) << "seed " << seed;
  }
}

TEST(gather, of_a_fixed_replica_expects_every_rth_id) {
  feeding given{{.ports = 1, .keeps_order = true, .replica = 1, .replicas = 3}, {0}};
  for (const std::uint64_t index : {1u, 4u, 7u}) ASSERT_TRUE(given.send(0, {0, index}));
  EXPECT_EQ(given.take(), "0.1 by 0");
  EXPECT_EQ(given.take(), "0.4 by 0");
  EXPECT_EQ(given.take(), "0.7 by 0");
  ASSERT_TRUE(given.send(0, {1, 1}));
  EXPECT_EQ(given.take(), "1.1 by 0") << "every call starts with the replica's own number";
}

TEST(gather, of_a_fixed_replica_passes_calls_too_short_for_it) {
  feeding given{{.ports = 1, .keeps_order = true, .replica = 2, .replicas = 3}, {0}};
  given.flush(0, 1);
  ASSERT_TRUE(given.send(0, {2, 2}));
  EXPECT_EQ(given.take(), "2.2 by 0");
}

TEST(gather, drops_what_was_taken_before) {
  feeding given{in_order, {0}, 2};
  for (const std::uint64_t index : {0u, 1u}) ASSERT_TRUE(given.send(0, {0, index}));
  EXPECT_EQ(given.take(), "0.0 by 0");
  EXPECT_EQ(given.take(), "0.1 by 0");
  for (const std::uint64_t index : {0u, 1u}) ASSERT_TRUE(given.send(0, {0, index})) << "a replay";
  EXPECT_EQ(given.take(), "");
  EXPECT_EQ(given.credits(0), 2u) << "a dropped part holds no slot";
  ASSERT_TRUE(given.send(0, {0, 2}));
  EXPECT_EQ(given.take(), "0.2 by 0");
}

TEST(gather, is_exhausted_when_all_edges_are_closed_and_nothing_is_held) {
  feeding given{two_ports, {0, 1}};
  ASSERT_TRUE(given.send(0, {0, 0}));
  EXPECT_EQ(given.take(), "") << "the part of port 0 is held now";
  for (const auto& each : given.producers) each->close();
  EXPECT_FALSE(given.inbound.exhausted());
  given.inbound.skip(0);
  EXPECT_TRUE(given.inbound.exhausted());
}

/// Real edges give all slots back when they close, held or not.
struct counting_consumer final : edge_consumer {
  explicit counting_consumer(int& held_slots) : held(held_slots) {}
  [[nodiscard]] std::optional<activation> try_receive() override {
    ++held;
    activation next;
    next.id = {0, 9};
    return next;
  }
  void release() noexcept override { --held; }
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override { return std::nullopt; }
  [[nodiscard]] bool exhausted() const noexcept override { return false; }
  void close() noexcept override { EXPECT_EQ(held, 0) << "released first"; }
  void abandon() noexcept override {}
  int& held;
};

TEST(gather, gives_held_slots_back_when_it_closes) {
  int held = 0;
  gather inbound{in_order};
  inbound.add_edge(0, std::make_unique<counting_consumer>(held));
  std::vector<activation> parts;
  EXPECT_FALSE(inbound.take(parts));
  EXPECT_EQ(held, 1);
  inbound.close();
  EXPECT_EQ(held, 0);
}

}  // namespace
}  // namespace troupe::testing
