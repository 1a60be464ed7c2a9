// Goal: what the loader does when it feeds several nodes and one of their replicas goes in the middle of a send.
// Method: real edges in one thread, with receivers that the test holds.
#include "runtime/flow/loader_engine.hpp"

#include <gmock/gmock.h>

#include "refusing_producer.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"

namespace troupe {
namespace {

struct no_tensors final : payload {};

struct endless_source final : micro_batch_source {
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    ++position;
    return loaded_micro_batch{{position - 1, position}, std::make_shared<const no_tensors>(), nullptr};
  }
  std::uint64_t position = 0;
};

/// Branch 0 has two replicas of one slot, branch 1 has one of many.
struct forked_loader {
  forked_loader() { wire(engine.outbound()); }
  void wire(fan_out& outbound) {
    receivers.clear();
    for (const std::uint32_t slots : {1u, 1u, 8u}) {
      edge_ends ends = edges.make({.slots = slots, .producer_bell = nullptr, .consumer_bell = nullptr});
      const bool second_replica = receivers.size() == 1;
      outbound.add_edge(second_replica ? 0 : outbound.add_branch({}), std::move(ends.producer));
      receivers.push_back(std::move(ends.consumer));
    }
  }
  void start_epoch() {
    auto fresh = std::make_shared<engine_wiring>();
    wire(fresh->outbound);
    ASSERT_TRUE(engine.command(loader_command::start_epoch{fresh}));
  }
  void begin(call_number call) {
    ASSERT_TRUE(engine.command(loader_command::open_call{call, std::make_shared<endless_source>()}));
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

TEST(loader_engine, a_cut_counts_what_some_branch_has_and_brings_it_to_the_others) {
  forked_loader loader;
  std::vector<std::pair<call_number, std::uint64_t>> ends;
  loader.engine.listen({.on_call_size = [&](call_size end) { ends.emplace_back(end.call, end.count); },
                        .on_failure = [](const failure&) {},
                        .on_paused = [](loading_paused) {},
                        .on_finished = [] {}});
  for (const call_number call : {0, 1, 2}) loader.begin(call);
  loader.run();
  ASSERT_EQ(loader.received(0), (ids{{0, 1}}));
  loader.receivers[1]->close();
  loader.run();
  ASSERT_EQ(loader.received(2), (ids{{0, 0}, {0, 1}, {0, 2}})) << "half sent: the closed replica had looked free";
  ASSERT_TRUE(loader.engine.command(loader_command::cut_calls{2}));
  loader.run();
  EXPECT_TRUE(ends.empty());
  loader.receivers[0]->release();
  loader.run();
  EXPECT_EQ(loader.received(0), (ids{{0, 2}}));
  EXPECT_EQ(ends, (std::vector<std::pair<call_number, std::uint64_t>>{{0, 3}, {1, 0}}));
  loader.receivers[0]->release();
  loader.run();
  EXPECT_EQ(loader.received(0), (ids{{2, 0}}));
  EXPECT_EQ(loader.received(2), (ids{{2, 0}}));
}

// The new edges have sent no part of micro-batch 0.2, but a sink may have counted it.
TEST(loader_engine, a_cut_counts_what_some_branch_had_before_a_rewiring) {
  forked_loader loader;
  std::vector<std::uint64_t> counts;
  loader.engine.listen({.on_call_size = [&](call_size end) { counts.push_back(end.count); },
                        .on_failure = [](const failure&) {},
                        .on_paused = [](loading_paused) {},
                        .on_finished = [] {}});
  loader.begin(0);
  loader.run();
  ASSERT_EQ(loader.received(0), (ids{{0, 1}}));
  loader.receivers[1]->close();
  loader.run();
  ASSERT_EQ(loader.received(2), (ids{{0, 0}, {0, 1}, {0, 2}})) << "half sent: the closed replica had looked free";
  loader.start_epoch();
  loader.run();
  ASSERT_EQ(loader.received(2), (ids{{0, 0}, {0, 1}})) << "0.2 waits for room";
  for (int twice = 0; twice < 2; ++twice) ASSERT_TRUE(loader.engine.command(loader_command::cut_calls{1}));
  loader.run();
  EXPECT_TRUE(counts.empty());
  ASSERT_EQ(loader.received(0), (ids{{0, 1}}));
  loader.receivers[0]->release();
  loader.run();
  EXPECT_EQ(loader.received(2), (ids{{0, 2}}));
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{3}));
}

// In a new epoch: a replayed micro-batch is half sent, while one of another call is read ahead.
TEST(loader_engine, a_cancelled_call_does_not_send_a_micro_batch_of_another_one_twice) {
  forked_loader loader;
  loader.begin(0);
  loader.run();
  ASSERT_EQ(loader.received(0), (ids{{0, 1}}));
  loader.receivers[0]->release();
  loader.run();
  ASSERT_TRUE(loader.engine.command(loader_command::cut_calls{1}));
  loader.begin(1);
  loader.run();  // 1.0 is read ahead: branch 0 has no room
  loader.start_epoch();
  loader.run();
  ASSERT_EQ(loader.received(0), (ids{{0, 1}}));
  loader.receivers[1]->close();
  loader.run();
  ASSERT_EQ(loader.received(2), (ids{{0, 0}, {0, 1}, {0, 2}})) << "half sent: the closed replica had looked free";
  ASSERT_TRUE(loader.engine.command(loader_command::cancel_call{1}));
  loader.run();
  loader.receivers[0]->release();
  loader.run();
  EXPECT_EQ(loader.received(0), (ids{{0, 2}}));
  EXPECT_EQ(loader.received(2), ids{});
}

TEST(loader_engine, an_edge_that_cannot_carry_a_micro_batch_costs_its_call_alone) {
  std::vector<micro_batch_id> sent;
  std::vector<failure> failures;
  loader_engine engine{{.name = "loader", .address = {}, .window = 4}};
  engine.listen({.on_call_size = [](call_size) {},
                 .on_failure = [&](const failure& what) { failures.push_back(what); },
                 .on_paused = [](loading_paused) {},
                 .on_finished = [] {}});
  engine.outbound().add_edge(engine.outbound().add_branch({}), std::make_unique<testing::refusing_producer>(0, sent));
  ASSERT_TRUE(engine.command(loader_command::open_call{0, std::make_shared<endless_source>()}));
  ASSERT_TRUE(engine.command(loader_command::open_call{1, std::make_shared<endless_source>()}));
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
  engine.listen({.on_call_size = [](call_size) {},
                 .on_failure = [&](const failure&) { ++failures; },
                 .on_paused = [](loading_paused) {},
                 .on_finished = [] {}});
  engine.outbound().add_edge(engine.outbound().add_branch({}), std::make_unique<testing::refusing_producer>(9, sent));
  ASSERT_TRUE(engine.command(loader_command::open_call{0, std::make_shared<endless_source>()}));
  for (int steps = 0; steps < 5; ++steps) static_cast<void>(engine.step());
  ASSERT_EQ(sent, (ids{{0, 0}, {0, 1}}));
  auto edges = std::make_shared<engine_wiring>();
  edges->outbound.add_edge(edges->outbound.add_branch({}), std::make_unique<testing::refusing_producer>(0, sent));
  ASSERT_TRUE(engine.command(loader_command::start_epoch{edges}));
  for (int steps = 0; steps < 5; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(sent.size(), 2u);
}

/// One branch with room for all, whose other end forgets what arrives; remembers what the source gave.
struct open_loader {
  explicit open_loader(std::uint64_t window, std::uint64_t of_large = 1)
      : engine({.name = "loader", .address = {}, .window = window, .window_min = of_large}) {
    engine.outbound().add_edge(engine.outbound().add_branch({}),
                               std::make_unique<testing::refusing_producer>(1u << 20, sent));
  }
  struct watched_source final : micro_batch_source {
    watched_source(open_loader& owner, std::uint64_t n) : by(owner), end(n) {}
    [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
      if (position == end) return std::nullopt;
      auto made = std::make_shared<const no_tensors>();
      by.given.push_back(made);
      ++position;
      return loaded_micro_batch{{position - 1, position}, std::move(made), nullptr, by.bytes};
    }
    open_loader& by;
    std::uint64_t position = 0;
    std::uint64_t end;
  };
  void begin(call_number call, std::uint64_t count) {
    ASSERT_TRUE(engine.command(loader_command::open_call{call, std::make_shared<watched_source>(*this, count)}));
    run();
  }
  void run() {
    for (int steps = 0; steps < 40; ++steps) static_cast<void>(engine.step());
  }
  [[nodiscard]] std::size_t held() const {
    return static_cast<std::size_t>(std::ranges::count_if(given, [](const auto& each) { return !each.expired(); }));
  }

  std::vector<micro_batch_id> sent;
  std::vector<std::weak_ptr<const no_tensors>> given;
  /// Of each micro-batch that is loaded from now on.
  std::uint64_t bytes = 0;
  loader_engine engine;
};

TEST(loader_engine, forgets_what_is_folded_while_it_sends_and_all_of_it_when_nothing_is_left_to_send) {
  open_loader loader(8);
  loader.begin(0, 12);
  EXPECT_EQ(loader.sent.size(), 8u) << "the window";
  EXPECT_EQ(loader.held(), 9u) << "and one that was read ahead";
  loader.engine.low_water({0, 6});
  static_cast<void>(loader.engine.step());
  EXPECT_EQ(loader.held(), 7u) << "two for each that is sent";
  loader.run();
  EXPECT_EQ(loader.sent.size(), 12u);
  EXPECT_EQ(loader.held(), 6u);
  loader.engine.low_water({1, 0});
  loader.run();
  EXPECT_EQ(loader.held(), 0u);
}

TEST(loader_engine, keeps_no_call_but_those_it_is_told_to_retain) {
  open_loader loader(5);
  for (const call_number call : {0, 1, 2, 3}) loader.begin(call, 3);
  EXPECT_EQ(loader.sent, (ids{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}}));
  loader.sent.clear();
  ASSERT_TRUE(loader.engine.command(loader_command::retain_calls{{0, 3}}));
  loader.run();
  EXPECT_EQ(loader.sent, (ids{{3, 0}, {3, 1}})) << "3 of call 0 are kept";
  EXPECT_EQ(loader.held(), 6u);
}

TEST(loader_engine, cuts_the_calls_below_a_number_and_no_others) {
  open_loader loader(4);
  std::vector<std::pair<call_number, std::uint64_t>> ends;
  loader.engine.listen({.on_call_size = [&](call_size end) { ends.emplace_back(end.call, end.count); },
                        .on_failure = [](const failure&) {},
                        .on_paused = [](loading_paused) {},
                        .on_finished = [] {}});
  for (const call_number call : {0, 1, 2}) loader.begin(call, 6);
  for (int twice = 0; twice < 2; ++twice) ASSERT_TRUE(loader.engine.command(loader_command::cut_calls{2}));
  loader.run();
  EXPECT_EQ(ends, (std::vector<std::pair<call_number, std::uint64_t>>{{0, 4}, {1, 0}}));
  loader.engine.low_water({0, 3});
  loader.run();
  EXPECT_EQ(loader.sent.back(), (micro_batch_id{2, 2}));
}

TEST(loader_engine, keeps_few_of_what_is_large_but_those_that_its_edges_hold) {
  for (const auto& [bytes, kept] : {std::pair{limits::window_bytes / 4, 4u},
                                    {limits::window_bytes / 5 + 1, 5u},
                                    {limits::window_bytes, 3u},
                                    {2 * limits::window_bytes, 3u},
                                    {std::uint64_t{1}, 8u}}) {
    open_loader loader(8, 3);
    loader.bytes = bytes;
    loader.begin(0, 20);
    EXPECT_EQ(loader.sent.size(), kept) << bytes;
    loader.engine.low_water({0, kept});
    loader.run();
    EXPECT_EQ(loader.sent.size(), std::min<std::size_t>(2 * kept, 20)) << bytes << ": as many again";
  }
}

TEST(loader_engine, gives_the_room_of_a_cancelled_call_to_the_next) {
  open_loader loader(8, 1);
  loader.bytes = limits::window_bytes / 2;
  loader.begin(0, 20);
  ASSERT_EQ(loader.sent, (ids{{0, 0}, {0, 1}}));
  ASSERT_TRUE(loader.engine.command(loader_command::cancel_call{0}));
  loader.begin(1, 20);
  EXPECT_EQ(loader.sent, (ids{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(loader_engine, takes_the_order_to_stop_behind_a_full_queue) {
  loader_engine engine{{.name = "loader", .address = {}, .window = 1}};
  while (engine.command(loader_command::cancel_call{0})) continue;
  engine.stop();
  for (std::uint32_t steps = 0; steps < limits::commands_queued_max; ++steps) {
    ASSERT_EQ(engine.step(), step_result::progressed);
  }
  EXPECT_EQ(engine.step(), step_result::finished);
}

TEST(loader_engine, tells_a_new_actor_of_the_call_that_an_edge_could_not_carry) {
  std::vector<micro_batch_id> sent;
  std::vector<micro_batch_id> failed;
  loader_engine engine{{.name = "loader", .address = {}, .window = 2}};
  engine.outbound().add_edge(engine.outbound().add_branch({}), std::make_unique<testing::refusing_producer>(0, sent));
  ASSERT_TRUE(engine.command(loader_command::open_call{0, std::make_shared<endless_source>()}));
  for (int steps = 0; steps < 5; ++steps) static_cast<void>(engine.step());
  ASSERT_TRUE(engine.command(
      loader_command::listen{{.on_call_size = [](call_size) {},
                              .on_failure = [&](const failure& what) { failed.push_back(*what.micro_batch); },
                              .on_paused = [](loading_paused) {},
                              .on_finished = [] {}}}));
  ASSERT_TRUE(engine.command(loader_command::start_epoch{std::make_shared<engine_wiring>()}));
  for (int steps = 0; steps < 5; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(failed, (ids{{0, 0}}));
}

}  // namespace
}  // namespace troupe
