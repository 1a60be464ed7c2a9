// Goal: what engines do in a new epoch: the loader sends again all that is not folded, from where it said, each flush
// at its place; a stage drops what it holds; edges that no engine took end without a word; who can work without whom.
// Method: real engines and edges in one thread, no actors.
#include <gmock/gmock.h>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/loader_engine.hpp"
#include "runtime/flow/stage_engine.hpp"
#include "runtime/topology/stage_graph.hpp"
#include "runtime/wiring/make_wiring.hpp"

namespace troupe {
namespace {

struct sample final : payload {};

struct counted_source final : micro_batch_source {
  explicit counted_source(std::uint64_t n) : end(n) {}
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    if (position == end) return std::nullopt;
    ++position;
    return loaded_micro_batch{{position - 1, position}, std::make_shared<const sample>(), nullptr};
  }
  std::uint64_t position = 0;
  std::uint64_t end;
};

struct loader_in_new_epoch {
  loader_in_new_epoch() {
    engine.listen({.on_call_size = [this](call_size end) { ends.push_back(end.call); },
                   .on_failure = [](const failure&) {},
                   .on_paused = [this](loading_paused at) { paused.push_back(at.first); },
                   .on_finished = [] {}});
  }
  void order(loader_command_t command) { ASSERT_TRUE(engine.command(std::move(command))); }
  void begin(call_number call, std::uint64_t count) {
    order(loader_command::open_call{call, std::make_shared<counted_source>(count)});
  }
  void start_epoch() {
    auto wiring = std::make_shared<engine_wiring>();
    edge_ends made = edges.make({.slots = 64, .producer_bell = nullptr, .consumer_bell = nullptr});
    wiring->outbound.add_edge(wiring->outbound.add_branch({}), std::move(made.producer));
    receiver = std::move(made.consumer);
    order(loader_command::start_epoch{std::move(wiring)});
    run();
  }
  void run() {
    for (int steps = 0; steps < 100; ++steps) static_cast<void>(engine.step());
  }
  /// "0.1 0.2 /0 1.0": ids, and the calls that had ended by then.
  std::string received() {
    std::string text;
    std::optional<call_number> ended;
    const auto note = [&] {
      if (receiver->flushed_through() != ended)
        text += "/" + std::to_string(*(ended = receiver->flushed_through())) + " ";
    };
    for (;;) {
      note();
      const auto message = receiver->try_receive();
      if (!message) return text;
      text += std::to_string(message->id.call) + "." + std::to_string(message->id.index) + " ";
      receiver->release();
    }
  }

  inproc_edge_factory edges;
  loader_engine engine{{.name = "loader", .address = {}, .window = 100, .paused = true}};
  std::unique_ptr<edge_consumer> receiver;
  std::vector<call_number> ends;
  std::vector<micro_batch_id> paused;
};

using ids = std::vector<micro_batch_id>;

TEST(loader_recovery, waits_for_its_first_edges) {
  loader_in_new_epoch loader;
  loader.begin(0, 2);
  loader.run();
  EXPECT_EQ(loader.engine.counters().sent, 0u);
  loader.start_epoch();
  EXPECT_EQ(loader.received(), "0.0 0.1 /0 ");
}

TEST(loader_recovery, sends_again_what_is_not_folded_and_every_flush_at_its_place) {
  loader_in_new_epoch loader;
  loader.start_epoch();
  loader.begin(0, 3);
  loader.begin(1, 2);
  loader.run();
  EXPECT_EQ(loader.received(), "0.0 0.1 0.2 /0 1.0 1.1 /1 ");
  loader.engine.low_water({0, 1});
  loader.order(loader_command::pause{});
  loader.run();
  EXPECT_EQ(loader.paused, (ids{{0, 1}}));
  loader.start_epoch();
  EXPECT_EQ(loader.received(), "0.1 0.2 /0 1.0 1.1 /1 ");
  EXPECT_EQ(loader.engine.counters().replayed, 4u);
  EXPECT_EQ(loader.ends, (std::vector<call_number>{0, 1, 0, 1})) << "its hearer may have died";
}

TEST(loader_recovery, keeps_its_word_about_the_first_one_when_the_mark_rises_meanwhile) {
  loader_in_new_epoch loader;
  loader.start_epoch();
  loader.begin(0, 4);
  loader.run();
  loader.order(loader_command::pause{});
  loader.run();
  ASSERT_EQ(loader.paused, (ids{{0, 0}}));
  loader.engine.low_water({0, 2});
  loader.start_epoch();
  EXPECT_EQ(loader.received(), "0.0 0.1 0.2 0.3 /0 ");
}

TEST(loader_recovery, forgets_what_is_folded_when_it_is_paused_again_in_the_middle) {
  loader_in_new_epoch loader;
  loader.start_epoch();
  loader.begin(0, 4);
  loader.begin(1, 1);
  loader.run();
  loader.order(loader_command::pause{});
  loader.order(loader_command::start_epoch{std::make_shared<engine_wiring>()});  // no listener: nothing can be sent
  loader.engine.low_water({1, 0});
  loader.run();
  loader.order(loader_command::pause{});
  loader.run();
  EXPECT_EQ(loader.paused.back(), (micro_batch_id{1, 0})) << "who is new does not know call 0";
  loader.engine.low_water({2, 0});
  loader.order(loader_command::pause{});
  loader.run();
  EXPECT_EQ(loader.paused.back(), (micro_batch_id{2, 0})) << "nor call 1, and the answer before was not acted on";
}

TEST(loader_recovery, flushes_also_when_the_rest_of_what_was_to_be_sent_again_is_cancelled) {
  loader_in_new_epoch loader;
  loader.start_epoch();
  loader.begin(0, 2);
  loader.run();
  loader.order(loader_command::pause{});
  loader.order(loader_command::cancel_call{0});
  loader.run();
  loader.start_epoch();
  EXPECT_EQ(loader.received(), "/0 ");
}

TEST(loader_recovery, queues_no_call_twice_and_reports_to_a_new_actor) {
  loader_in_new_epoch loader;
  loader.start_epoch();
  loader.begin(0, 1);
  loader.begin(0, 1);
  loader.run();
  EXPECT_EQ(loader.received(), "0.0 /0 ");
  std::vector<call_number> heard;
  loader.order(loader_command::listen{{.on_call_size = [&](call_size end) { heard.push_back(end.call); },
                                       .on_failure = {},
                                       .on_paused = {},
                                       .on_finished = {}}});
  loader.start_epoch();
  EXPECT_EQ(heard, (std::vector<call_number>{0}));
}

TEST(engine_wiring, that_nobody_takes_ends_without_a_word) {
  inproc_edge_factory edges;
  edge_ends ends = edges.make({.slots = 2, .producer_bell = nullptr, .consumer_bell = nullptr});
  {
    engine_wiring lost;
    lost.outbound.add_edge(lost.outbound.add_branch({}), std::move(ends.producer));
  }
  EXPECT_FALSE(ends.consumer->exhausted());
  ends = edges.make({.slots = 2, .producer_bell = nullptr, .consumer_bell = nullptr});
  {
    engine_wiring lost;
    lost.inbound.push_back({0, std::move(ends.consumer)});
  }
  activation message;
  EXPECT_EQ(ends.producer->try_send(message), send_status::sent);
}

struct returning_body final : unary_body {
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override { return input.tensors; }
};

TEST(stage_recovery, drops_what_it_holds_and_goes_on_over_the_new_edges) {
  inproc_edge_factory edges;
  stage_engine engine{{.name = "stage", .address = {}}, std::make_shared<returning_body>()};
  const auto start_epoch = [&] {
    edge_ends in = edges.make({.slots = 2, .producer_bell = nullptr, .consumer_bell = nullptr});
    edge_ends out = edges.make({.slots = 1, .producer_bell = nullptr, .consumer_bell = nullptr});
    auto wiring = std::make_shared<engine_wiring>();
    wiring->inbound.push_back({0, std::move(in.consumer)});
    wiring->outbound.add_edge(wiring->outbound.add_branch({}), std::move(out.producer));
    EXPECT_TRUE(engine.command(stage_command::start_epoch{std::move(wiring), {0, 0}}));
    return std::pair{std::move(in.producer), std::move(out.consumer)};
  };
  const auto run = [&] {
    for (int steps = 0; steps < 20; ++steps) EXPECT_NE(engine.step(), step_result::finished);
  };
  const auto send = [](edge_producer& to, std::uint64_t index) {
    activation message;
    message.id = {0, index};
    message.tensors = std::make_shared<const sample>();
    ASSERT_EQ(to.try_send(message), send_status::sent);
  };
  EXPECT_EQ(engine.step(), step_result::idle) << "without edges it waits";
  auto [in, out] = start_epoch();
  run();
  send(*in, 0);
  send(*in, 1);
  run();
  ASSERT_EQ(out->try_receive()->id, (micro_batch_id{0, 0}));

  auto [fresh_in, fresh_out] = start_epoch();  // 1 waits for room
  run();
  EXPECT_FALSE(out->exhausted());
  EXPECT_EQ(in->credits(), 2u) << "released, and not closed";
  send(*fresh_in, 0);
  run();
  EXPECT_EQ(fresh_out->try_receive()->id, (micro_batch_id{0, 0}));
  fresh_in->close();
  for (int steps = 0; steps < 20; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(engine.step(), step_result::finished);
}

/// One of its inputs comes from an engine that has forgotten call 0, the other from one that passes replays on.
TEST(stage_recovery, takes_nothing_from_below_where_its_epoch_begins) {
  inproc_edge_factory edges;
  stage_engine engine{{.name = "join", .address = {}, .inputs = {.ports = 2, .keeps_order = true}},
                      std::make_shared<returning_body>()};
  auto wiring = std::make_shared<engine_wiring>();
  std::vector<std::unique_ptr<edge_producer>> inputs;
  for (const std::size_t port : {0u, 1u}) {
    edge_ends made = edges.make({.slots = 1, .producer_bell = nullptr, .consumer_bell = nullptr});
    wiring->inbound.push_back({port, std::move(made.consumer)});
    inputs.push_back(std::move(made.producer));
  }
  edge_ends out = edges.make({.slots = 1, .producer_bell = nullptr, .consumer_bell = nullptr});
  wiring->outbound.add_edge(wiring->outbound.add_branch({}), std::move(out.producer));
  ASSERT_TRUE(engine.command(stage_command::start_epoch{std::move(wiring), {1, 0}}));
  const auto send = [&](std::size_t port, micro_batch_id id) {
    activation message;
    message.id = id;
    message.tensors = std::make_shared<const sample>();
    ASSERT_EQ(inputs[port]->try_send(message), send_status::sent) << port << ' ' << to_string(id);
    for (int steps = 0; steps < 20; ++steps) EXPECT_NE(engine.step(), step_result::finished);
  };
  send(0, {0, 1});
  send(0, {1, 0});
  send(1, {1, 0});
  EXPECT_EQ(out.consumer->try_receive()->id, (micro_batch_id{1, 0}));
}

TEST(usable_instances, a_replica_needs_its_own_neighbours_within_a_pipeline) {
  const auto plan = expand(make_chain({.stages = 3, .replicas = 2, .num_pipe_buffers = 2}));
  ASSERT_TRUE(plan);
  std::vector<bool> there(plan->instances.size(), true);
  EXPECT_EQ(usable_instances(*plan, there), there);
  there[plan->instance_at({1, 0})] = false;
  const auto usable = usable_instances(*plan, there);
  for (stage_index stage = 0; stage < 3; ++stage) {
    EXPECT_FALSE(usable[plan->instance_at({stage, 0})]) << stage;
    EXPECT_TRUE(usable[plan->instance_at({stage, 1})]) << stage;
  }
  EXPECT_TRUE(serves_every_node(*plan, usable));
  there[plan->instance_at({2, 1})] = false;
  EXPECT_FALSE(serves_every_node(*plan, usable_instances(*plan, there)));
}

}  // namespace
}  // namespace troupe
