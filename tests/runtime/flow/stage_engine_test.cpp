// Goal: what the simulator cannot show, as its steps are atomic: commands that arrive in the middle of a step; and when
// it passes on the end of a call. Method: an edge that gives the engine a command at the very moment it gives it a
// micro-batch; real edges with one slot.
#include "runtime/flow/stage_engine.hpp"

#include <array>
#include <vector>

#include <gmock/gmock.h>

#include "refusing_producer.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct nothing final : payload {};

activation message(micro_batch_id id) {
  activation made;
  made.id = id;
  made.samples = {0, 1};
  made.tensors = std::make_shared<const nothing>();
  return made;
}

struct echo_body final : unary_body {
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override {
    ++forwards;
    return input.tensors;
  }
  int forwards = 0;
};

struct counting_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr&, const activation&, score& into) override {
    into.words = {1};
    return {};
  }
};

/// Gives one micro-batch, and does `meanwhile` after the engine has looked at its commands and before it has the
/// message.
struct racing_consumer final : edge_consumer {
  [[nodiscard]] std::optional<activation> try_receive() override {
    if (given) return std::nullopt;
    given = true;
    meanwhile();
    return message({0, 0});
  }
  void release() noexcept override { ++released; }
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    return given ? std::optional<call_number>{0} : std::nullopt;
  }
  [[nodiscard]] bool exhausted() const noexcept override { return given; }
  void close() noexcept override {}
  void abandon() noexcept override {}

  std::function<void()> meanwhile = [] {};
  bool given = false;
  int released = 0;
};

struct last_stage {
  std::shared_ptr<echo_body> body = std::make_shared<echo_body>();
  racing_consumer* edge = new racing_consumer;
  std::vector<score> scores;
  stage_engine engine{
      {.name = "stage 0", .address = {}, .sinks = {0}, .now = [] { return std::chrono::nanoseconds{0}; }}, body};

  last_stage() {
    engine.add_inbound(std::unique_ptr<edge_consumer>{edge});
    stage_listener listener;
    listener.on_scores = [this](std::vector<score> batch) { scores.insert(scores.end(), batch.begin(), batch.end()); };
    engine.listen(std::move(listener));
  }
  void run() {
    for (int steps = 0; steps < 100; ++steps) {
      if (engine.step() == step_result::finished) return;
    }
    FAIL() << "the engine did not finish";
  }
};

TEST(stage_engine, a_call_that_begins_while_its_first_micro_batch_is_received_is_scored) {
  last_stage stage;
  stage.edge->meanwhile = [&] {
    ASSERT_TRUE(stage.engine.command(stage_command::open_call{0, 0, {std::make_shared<counting_scorer>()}}));
  };
  stage.run();
  EXPECT_EQ(stage.scores.size(), 1) << "a micro-batch was dropped, and its call would never end";
  EXPECT_EQ(stage.edge->released, 1);
}

TEST(stage_engine, reports_to_the_listener_that_it_was_given_last) {
  last_stage stage;
  std::vector<score> heard;
  bool has_finished = false;
  stage_listener next{.on_ready = {},
                      .on_scores = [&](std::vector<score> batch) { heard = std::move(batch); },
                      .on_failure = {},
                      .on_finished = [&] { has_finished = true; }};
  ASSERT_TRUE(stage.engine.command(stage_command::open_call{0, 0, {std::make_shared<counting_scorer>()}}));
  ASSERT_TRUE(stage.engine.command(stage_command::listen{std::move(next)}));
  stage.run();
  EXPECT_EQ(heard.size(), 1);
  EXPECT_TRUE(has_finished);
  EXPECT_TRUE(stage.scores.empty()) << "the actors behind the listener before are gone";
}

TEST(stage_engine, a_micro_batch_of_a_call_that_has_ended_is_dropped) {
  last_stage stage;
  stage.run();
  EXPECT_EQ(stage.body->forwards, 0);
  EXPECT_TRUE(stage.scores.empty());
  EXPECT_EQ(stage.edge->released, 1);
}

TEST(stage_engine, a_stop_that_arrives_with_a_micro_batch_finishes_the_engine_and_gives_the_slot_back) {
  last_stage stage;
  stage.edge->meanwhile = [&] { stage.engine.stop(); };
  stage.run();
  EXPECT_TRUE(stage.scores.empty());
  EXPECT_EQ(stage.edge->released, 1);
}

TEST(stage_engine, takes_the_order_to_stop_behind_a_full_queue) {
  stage_engine engine{{.name = "stage 0", .address = {}}, std::make_shared<echo_body>()};
  while (engine.command(stage_command::cancel_call{0})) continue;
  engine.stop();
  for (std::uint32_t steps = 0; steps < limits::commands_queued_max; ++steps) {
    ASSERT_EQ(engine.step(), step_result::progressed);
  }
  EXPECT_EQ(engine.step(), step_result::finished);
}

/// A node before a copied one that keeps order: both replicas of that wait for the end of a call on every edge.
struct fork_to_fixed_replicas {
  fork_to_fixed_replicas() {
    edge_ends in = edges.make({.slots = 4, .producer_bell = nullptr, .consumer_bell = nullptr});
    input = std::move(in.producer);
    engine.add_inbound(std::move(in.consumer));
    const std::size_t branch = engine.outbound().add_branch({.port = 0, .fixed_replica = true});
    for (auto& each : outputs) {
      edge_ends out = edges.make({.slots = 1, .producer_bell = nullptr, .consumer_bell = nullptr});
      engine.outbound().add_edge(branch, std::move(out.producer));
      each = std::move(out.consumer);
    }
  }
  void send(micro_batch_id id) {
    activation next = message(id);
    ASSERT_EQ(input->try_send(next), send_status::sent);
  }

  inproc_edge_factory edges;
  stage_engine engine{{.name = "fork", .address = {}, .sinks = {}}, std::make_shared<echo_body>()};
  std::unique_ptr<edge_producer> input;
  std::array<std::unique_ptr<edge_consumer>, 2> outputs;
};

TEST(stage_engine, the_end_of_a_call_goes_before_a_micro_batch_of_the_next_that_finds_no_room) {
  fork_to_fixed_replicas fork;
  fork.send({0, 0});
  fork.input->send_flush(0);
  fork.send({1, 0});
  for (int steps = 0; steps < 10; ++steps) static_cast<void>(fork.engine.step());
  EXPECT_EQ(fork.outputs[0]->flushed_through(), std::nullopt) << "0.0 is still there";
  EXPECT_EQ(fork.outputs[1]->flushed_through(), 0u) << "it would wait for call 0 while 1.0 waits for its neighbour";
}

TEST(stage_engine, the_end_of_a_call_waits_for_its_last_micro_batch) {
  fork_to_fixed_replicas fork;
  for (const std::uint64_t index : {0u, 2u}) fork.send({0, index});
  fork.input->send_flush(0);
  for (int steps = 0; steps < 10; ++steps) static_cast<void>(fork.engine.step());
  EXPECT_EQ(fork.outputs[1]->flushed_through(), std::nullopt) << "0.2 is in the engine";
  ASSERT_TRUE(fork.outputs[0]->try_receive());
  fork.outputs[0]->release();
  for (int steps = 0; steps < 10; ++steps) static_cast<void>(fork.engine.step());
  EXPECT_EQ(fork.outputs[1]->flushed_through(), 0u);
}

TEST(stage_engine, what_is_left_of_an_ended_call_takes_no_slots_from_those_behind_it_while_there_is_no_room) {
  inproc_edge_factory edges;
  stage_engine engine{{.name = "merge", .address = {}, .sinks = {}, .inputs = {.ports = 1, .keeps_order = true}},
                      std::make_shared<echo_body>()};
  std::vector<std::unique_ptr<edge_producer>> inputs;
  for (int each = 0; each < 2; ++each) {
    edge_ends in = edges.make({.slots = 1, .producer_bell = nullptr, .consumer_bell = nullptr});
    inputs.push_back(std::move(in.producer));
    engine.add_inbound(std::move(in.consumer));
  }
  edge_ends out = edges.make({.slots = 1, .producer_bell = nullptr, .consumer_bell = nullptr});
  engine.outbound().add_edge(engine.outbound().add_branch({}), std::move(out.producer));
  ASSERT_TRUE(engine.command(stage_command::release_call{0}));
  for (const micro_batch_id id : {micro_batch_id{1, 0}, {1, 1}}) {
    activation next = message(id);
    ASSERT_EQ(inputs[0]->try_send(next), send_status::sent);
    for (int steps = 0; steps < 5; ++steps) static_cast<void>(engine.step());
  }
  ASSERT_EQ(inputs[0]->credits(), 0u) << "1.1 waits for room";
  activation late = message({0, 7});
  ASSERT_EQ(inputs[1]->try_send(late), send_status::sent);
  for (int steps = 0; steps < 5; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(inputs[1]->credits(), 1u) << "the sender may have 1.2 behind it, and that may be what all wait for";
}

struct wordy_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr&, const activation&, score& into) override {
    into.words.assign(limits::score_words_per_message / 2, 1);
    return {};
  }
};

TEST(stage_engine, large_scores_travel_few_at_a_time) {
  constexpr std::uint64_t count = 7;
  std::vector<std::size_t> batches;
  stage_engine engine{{.name = "last", .address = {}, .sinks = {0}, .now = [] { return std::chrono::nanoseconds{0}; }},
                      std::make_shared<echo_body>()};
  stage_listener listener;
  listener.on_scores = [&](const std::vector<score>& batch) { batches.push_back(batch.size()); };
  engine.listen(std::move(listener));
  inproc_edge_factory edges;
  edge_ends inbound = edges.make({.slots = count, .producer_bell = nullptr, .consumer_bell = nullptr});
  engine.add_inbound(std::move(inbound.consumer));
  ASSERT_TRUE(engine.command(stage_command::open_call{0, 0, {std::make_shared<wordy_scorer>()}}));
  for (std::uint64_t index = 0; index < count; ++index) {
    activation given = message({0, index});
    ASSERT_EQ(inbound.producer->try_send(given), send_status::sent);
  }
  inbound.producer->send_flush(0);
  for (int steps = 0; steps < 20; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(batches, (std::vector<std::size_t>{2, 2, 2, 1}));
}

// The receiver of the last score of a call looks at the counters.
TEST(stage_engine, a_micro_batch_is_counted_before_its_scores_leave) {
  std::chrono::nanoseconds now{0};
  stage_engine engine{{.name = "last", .address = {}, .sinks = {0}, .now = [&] { return now += 1s; }},
                      std::make_shared<echo_body>()};
  std::uint64_t left = 0;
  stage_listener listener;
  listener.on_scores = [&](const std::vector<score>& batch) {
    left += batch.size();
    EXPECT_EQ(engine.page()->counters.micro_batches.load(), left);
  };
  engine.listen(std::move(listener));
  inproc_edge_factory edges;
  edge_ends inbound = edges.make({.slots = 2, .producer_bell = nullptr, .consumer_bell = nullptr});
  engine.add_inbound(std::move(inbound.consumer));
  ASSERT_TRUE(engine.command(stage_command::open_call{0, 0, {std::make_shared<counting_scorer>()}}));
  for (std::uint64_t index = 0; index < 2; ++index) {
    activation given = message({0, index});
    ASSERT_EQ(inbound.producer->try_send(given), send_status::sent);
  }
  for (int steps = 0; steps < 10; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(left, 2u);
}

TEST(stage_engine, scores_do_not_wait_for_room_on_the_edge_behind_them) {
  std::chrono::nanoseconds now{0};
  stage_engine engine{{.name = "branch", .address = {}, .sinks = {0}, .now = [&] { return now; }},
                      std::make_shared<echo_body>()};
  std::size_t left = 0;
  stage_listener listener;
  listener.on_scores = [&](const std::vector<score>& batch) { left += batch.size(); };
  engine.listen(std::move(listener));
  inproc_edge_factory edges;
  edge_ends inbound = edges.make({.slots = 4, .producer_bell = nullptr, .consumer_bell = nullptr});
  edge_ends out = edges.make({.slots = 1, .producer_bell = nullptr, .consumer_bell = nullptr});
  engine.add_inbound(std::move(inbound.consumer));
  engine.outbound().add_edge(engine.outbound().add_branch({}), std::move(out.producer));
  ASSERT_TRUE(engine.command(stage_command::open_call{0, 0, {std::make_shared<counting_scorer>()}}));
  for (std::uint64_t index = 0; index < 2; ++index) {
    activation given = message({0, index});
    ASSERT_EQ(inbound.producer->try_send(given), send_status::sent);
  }
  for (int steps = 0; steps < 10; ++steps) static_cast<void>(engine.step());
  ASSERT_EQ(left, 0u) << "they are not due";
  now += limits::score_delay_max;
  for (int steps = 0; steps < 10; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(left, 2u) << "0.1 waits for room, and the low-water mark with it";
  EXPECT_GT(engine.park_limit(), std::chrono::nanoseconds{0}) << "it would not rest until then";
}

/// Has no room at first, and takes a number when it says that there is some.
struct late_credit final : edge_producer {
  explicit late_credit(trace_clock& c) : clock(c) {}
  [[nodiscard]] std::uint32_t credits() const noexcept override {
    if (++asked <= 3) return 0;
    if (!seen) seen = clock.draw();
    return 1;
  }
  [[nodiscard]] std::uint32_t slots() const noexcept override { return 1; }
  [[nodiscard]] send_status try_send(activation&) override { return send_status::sent; }
  void send_flush(call_number) noexcept override {}
  void close() noexcept override {}
  void abandon() noexcept override {}

  trace_clock& clock;
  mutable int asked = 0;
  mutable std::optional<std::uint64_t> seen;
};

TEST(stage_engine, a_traced_send_has_a_number_from_after_its_credit) {
  trace_clock clock;
  stage_engine engine{{.name = "stage 0", .address = {}, .trace = &clock}, std::make_shared<echo_body>()};
  inproc_edge_factory edges;
  edge_ends inbound = edges.make({.slots = 4, .producer_bell = nullptr, .consumer_bell = nullptr});
  engine.add_inbound(std::move(inbound.consumer));
  auto to = std::make_unique<late_credit>(clock);
  const late_credit& edge = *to;
  engine.outbound().add_edge(engine.outbound().add_branch({}), std::move(to));
  activation given = message({0, 0});
  ASSERT_EQ(inbound.producer->try_send(given), send_status::sent);
  for (int steps = 0; steps < 10; ++steps) static_cast<void>(engine.step());
  const auto events = engine.trace()->events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].what, instruction_kind::send_activation);
  ASSERT_TRUE(edge.seen);
  EXPECT_EQ(*edge.seen, events[1].order + 1) << "waiting draws nothing";
  EXPECT_EQ(events[2].order, *edge.seen + 1);
}

TEST(stage_engine, a_body_that_cannot_start_is_a_failure_of_the_run_whatever_it_throws) {
  struct stubborn_body final : unary_body {
    explicit stubborn_body(bool k) : knows_exceptions(k) {}
    void on_start() override {
      if (knows_exceptions) throw std::runtime_error("no room");
      throw 42;
    }
    [[nodiscard]] expected<payload_ptr> forward(const activation& input) override { return input.tensors; }
    bool knows_exceptions;
  };
  for (const bool knows : {true, false}) {
    stage_engine engine{{.name = "stage 0", .address = {}}, std::make_shared<stubborn_body>(knows)};
    std::vector<failure> failures;
    bool ready = false;
    stage_listener listener;
    listener.on_ready = [&] { ready = true; };
    listener.on_failure = [&](const failure& what) { failures.push_back(what); };
    engine.listen(std::move(listener));
    engine.on_thread_start();
    EXPECT_FALSE(ready);
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_FALSE(failures[0].micro_batch);
    EXPECT_EQ(failures[0].cause.code, error_code::forward_failed);
  }
}

TEST(stage_engine, an_edge_that_cannot_carry_its_outputs_costs_the_call_alone) {
  std::vector<micro_batch_id> sent;
  std::vector<failure> failures;
  stage_engine engine{{.name = "stage 0", .address = {}}, std::make_shared<echo_body>()};
  engine.listen({.on_ready = [] {},
                 .on_scores = [](const std::vector<score>&) {},
                 .on_failure = [&](const failure& what) { failures.push_back(what); },
                 .on_finished = [] {}});
  inproc_edge_factory edges;
  edge_ends inbound = edges.make({.slots = 2, .producer_bell = nullptr, .consumer_bell = nullptr});
  engine.add_inbound(std::move(inbound.consumer));
  engine.outbound().add_edge(engine.outbound().add_branch({}), std::make_unique<testing::refusing_producer>(0, sent));
  for (const micro_batch_id id : {micro_batch_id{0, 0}, micro_batch_id{1, 0}}) {
    activation given = message(id);
    ASSERT_EQ(inbound.producer->try_send(given), send_status::sent);
  }
  for (int steps = 0; steps < 10; ++steps) static_cast<void>(engine.step());
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].micro_batch, (micro_batch_id{0, 0}));
  EXPECT_NE(failures[0].cause.cause.find("no memory for it"), std::string::npos);
  EXPECT_EQ(sent, (std::vector<micro_batch_id>{{1, 0}}));
  EXPECT_EQ(inbound.producer->credits(), 2u);
}

}  // namespace
}  // namespace troupe
