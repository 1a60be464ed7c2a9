// Goal: what the loader does when it feeds several nodes and one of their replicas goes in the middle of a send.
// Method: real edges in one thread, with receivers that the test holds.
#include <gmock/gmock.h>

#include <troupe/runtime/edge/inproc/inproc_edge.hpp>
#include <troupe/runtime/engine/loader_engine.hpp>

#include "refusing_producer.hpp"

namespace troupe {
namespace {

struct nothing final : payload {};

struct endless_source final : micro_batch_source {
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    ++position;
    return loaded_micro_batch{{position - 1, position}, std::make_shared<const nothing>(), nullptr};
  }
  std::uint64_t position = 0;
};

/// Branch 0 has two replicas of one slot, branch 1 has one of many.
struct forked_loader {
  forked_loader() {
    for (const std::uint32_t slots : {1u, 1u, 8u}) {
      edge_ends ends = edges.make({.slots = slots, .producer_bell = nullptr, .consumer_bell = nullptr});
      const bool second_replica = receivers.size() == 1;
      if (!second_replica) branch = engine.outbound().add_branch({});
      engine.outbound().add_edge(branch, std::move(ends.producer));
      receivers.push_back(std::move(ends.consumer));
    }
  }
  void begin(call_number call) {
    ASSERT_TRUE(engine.command(loader_command::begin_call{call, std::make_shared<endless_source>()}));
  }
  void run() {
    for (int steps = 0; steps < 20; ++steps) static_cast<void>(engine.step());
  }
  /// All that has arrived at a receiver; its slots stay in use.
  std::vector<micro_batch_id> received(std::size_t edge) {
    std::vector<micro_batch_id> ids;
    while (auto message = receivers[edge]->try_receive()) ids.push_back(message->id);
    return ids;
  }

  inproc_edge_factory edges;
  loader_engine engine{{.name = "loader", .address = {}, .window = 100}};
  std::vector<std::unique_ptr<edge_consumer>> receivers;
  std::size_t branch = 0;
};

using ids = std::vector<micro_batch_id>;

TEST(loader_engine, after_the_cancel_of_a_half_sent_micro_batch_every_branch_gets_the_next) {
  forked_loader loader;
  loader.begin(0);
  loader.run();
  EXPECT_EQ(loader.received(0), (ids{{0, 1}}));
  EXPECT_EQ(loader.received(1), (ids{{0, 0}}));
  EXPECT_EQ(loader.received(2), (ids{{0, 0}, {0, 1}}));
  loader.receivers[1]->close();
  loader.run();
  EXPECT_EQ(loader.received(2), (ids{{0, 2}})) << "half sent: the closed replica had looked free";
  ASSERT_TRUE(loader.engine.command(loader_command::cancel_call{0}));
  loader.begin(1);
  loader.run();
  loader.receivers[0]->release();
  loader.run();
  EXPECT_EQ(loader.received(0), (ids{{1, 0}}));
  EXPECT_EQ(loader.received(2), (ids{{1, 0}}));
}

TEST(loader_engine, an_edge_that_cannot_carry_a_micro_batch_costs_its_call_alone) {
  std::vector<micro_batch_id> sent;
  std::vector<failure> failures;
  loader_engine engine{{.name = "loader", .address = {}, .window = 4}};
  engine.listen({.on_end_of_call = [](end_of_call) {},
                 .on_failure = [&](const failure& what) { failures.push_back(what); },
                 .on_paused = [](loading_paused) {},
                 .on_finished = [] {}});
  engine.outbound().add_edge(engine.outbound().add_branch({}), std::make_unique<testing::refusing_producer>(0, sent));
  ASSERT_TRUE(engine.command(loader_command::begin_call{0, std::make_shared<endless_source>()}));
  ASSERT_TRUE(engine.command(loader_command::begin_call{1, std::make_shared<endless_source>()}));
  for (int steps = 0; steps < 20; ++steps) static_cast<void>(engine.step());
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].micro_batch, (micro_batch_id{0, 0}));
  EXPECT_NE(failures[0].cause.cause.find("no memory for it"), std::string::npos);
  EXPECT_EQ(sent, (ids{{1, 0}, {1, 1}, {1, 2}, {1, 3}}));
}

TEST(loader_engine, so_does_one_that_cannot_carry_it_again) {
  std::vector<micro_batch_id> sent;
  int failures = 0;
  loader_engine engine{{.name = "loader", .address = {}, .window = 2}};
  engine.listen({.on_end_of_call = [](end_of_call) {},
                 .on_failure = [&](const failure&) { ++failures; },
                 .on_paused = [](loading_paused) {},
                 .on_finished = [] {}});
  engine.outbound().add_edge(engine.outbound().add_branch({}), std::make_unique<testing::refusing_producer>(9, sent));
  ASSERT_TRUE(engine.command(loader_command::begin_call{0, std::make_shared<endless_source>()}));
  for (int steps = 0; steps < 5; ++steps) static_cast<void>(engine.step());
  ASSERT_EQ(sent, (ids{{0, 0}, {0, 1}}));
  auto edges = std::make_shared<engine_wiring>();
  edges->outbound.add_edge(edges->outbound.add_branch({}), std::make_unique<testing::refusing_producer>(0, sent));
  ASSERT_TRUE(engine.command(loader_command::rewire{edges}));
  for (int steps = 0; steps < 5; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(sent.size(), 2u);
}

}  // namespace
}  // namespace troupe
