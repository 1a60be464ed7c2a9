// Goal: a stage whose device still works on outputs takes further micro-batches, and lets nothing out that is not
// ready. Method: a body whose events pass when the test says so, over real edges.
#include <deque>
#include <memory>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/stage_engine.hpp"

namespace troupe {
namespace {

using ::testing::ElementsAre;

struct something final : payload {};

struct told_event final : context_event {
  [[nodiscard]] expected<bool> has_passed() override {
    if (is_broken) return fail(error_code::device_failed, "cuda:0", "an illegal address");
    return is_there;
  }
  bool is_there = false;
  bool is_broken = false;
};

struct device_body_stand_in final : unary_body {
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override {
    events.push_back(std::make_shared<told_event>());
    return input.tensors;
  }
  [[nodiscard]] std::shared_ptr<context_event> outputs_ready() override { return events.back(); }
  std::vector<std::shared_ptr<told_event>> events;
};

struct index_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr&, const activation& input, score& into) override {
    into.words = {input.id.index};
    return {};
  }
};

/// A stage with one edge in and, without a sink, one out.
struct device_stage {
  explicit device_stage(bool has_sink, std::uint32_t buffers = 2) : engine(options(has_sink, buffers), body) {
    edge_ends in = edges.make({.slots = 8, .producer_bell = nullptr, .consumer_bell = nullptr});
    input = std::move(in.producer);
    engine.add_inbound(std::move(in.consumer));
    if (!has_sink) add_output();
    stage_listener listener;
    listener.on_scores = [this](const std::vector<score>& batch) {
      for (const score& each : batch) scored.push_back(each.words.front());
    };
    listener.on_failure = [this](const failure& what) { failures.push_back(what); };
    listener.on_finished = [this] { has_finished = true; };
    engine.listen(std::move(listener));
    if (has_sink) open(0);
  }
  static stage_engine_options options(bool has_sink, std::uint32_t buffers) {
    stage_engine_options made{.name = "stage 0", .address = {}, .num_pipe_buffers = buffers};
    if (has_sink) made.sinks = {0};
    made.now = [] { return std::chrono::nanoseconds{0}; };
    return made;
  }
  void add_output() {
    edge_ends out = edges.make({.slots = 8, .producer_bell = nullptr, .consumer_bell = nullptr});
    output = std::move(out.consumer);
    engine.outbound().add_edge(engine.outbound().add_branch({}), std::move(out.producer));
  }
  void open(call_number call) {
    ASSERT_TRUE(engine.command(stage_command::open_call{call, 0, {std::make_shared<index_scorer>()}}));
  }
  std::weak_ptr<const payload> send(micro_batch_id id, row_set_ptr rows = nullptr) {
    activation next;
    next.id = id;
    next.samples = {0, 1};
    next.rows = std::move(rows);
    if (!next.is_empty_part()) next.tensors = std::make_shared<const something>();
    std::weak_ptr<const payload> sent = next.tensors;
    EXPECT_EQ(input->try_send(next), send_status::sent);
    return sent;
  }
  void run() {
    for (int steps = 0; steps < 30; ++steps) static_cast<void>(engine.step());
  }
  void pass(std::size_t event) {
    body->events.at(event)->is_there = true;
    run();
  }
  std::vector<std::uint64_t> received() {
    std::vector<std::uint64_t> found;
    while (auto next = output->try_receive()) {
      found.push_back(next->id.index);
      output->release();
    }
    return found;
  }

  inproc_edge_factory edges;
  std::shared_ptr<device_body_stand_in> body = std::make_shared<device_body_stand_in>();
  std::unique_ptr<edge_producer> input;
  std::unique_ptr<edge_consumer> output;
  std::vector<std::uint64_t> scored;
  std::vector<failure> failures;
  bool has_finished = false;
  stage_engine engine;
};

TEST(in_flight, takes_as_many_as_there_are_buffers_and_lets_each_out_when_it_is_ready) {
  device_stage stage(false);
  for (const std::uint64_t index : {0u, 1u, 2u}) stage.send({0, index});
  stage.run();
  EXPECT_EQ(stage.body->events.size(), 2u);
  EXPECT_THAT(stage.received(), ElementsAre());
  EXPECT_EQ(stage.input->credits(), 5u) << "0.0 and 0.1 are in use, 0.2 waits";
  stage.pass(0);
  EXPECT_EQ(stage.body->events.size(), 3u);
  EXPECT_THAT(stage.received(), ElementsAre(0u));
  stage.pass(1);
  stage.pass(2);
  EXPECT_THAT(stage.received(), ElementsAre(1u, 2u));
  EXPECT_EQ(stage.input->credits(), 8u);
}

TEST(in_flight, is_bounded_whatever_the_buffers_are) {
  device_stage stage(false, 8);
  for (std::uint64_t index = 0; index < 8; ++index) stage.send({0, index});
  stage.run();
  EXPECT_EQ(stage.body->events.size(), limits::forwards_in_flight_max);
}

TEST(in_flight, an_empty_part_does_not_overtake) {
  device_stage stage(false);
  stage.send({0, 0});
  stage.send({0, 1}, std::make_shared<const row_set>());
  stage.run();
  EXPECT_EQ(stage.body->events.size(), 1u);
  EXPECT_THAT(stage.received(), ElementsAre());
  stage.pass(0);
  EXPECT_THAT(stage.received(), ElementsAre(0u, 1u));
}

TEST(in_flight, scores_what_is_ready_and_tells_the_end_of_the_call_behind_it) {
  device_stage stage(true);
  stage.send({0, 0});
  stage.input->send_flush(0);
  stage.run();
  EXPECT_THAT(stage.scored, ElementsAre()) << "the flush sends all scores";
  EXPECT_EQ(stage.engine.page()->work.working_on(), (micro_batch_id{0, 0}));
  EXPECT_EQ(stage.engine.park_limit(), limits::device_poll_pause);
  stage.pass(0);
  EXPECT_THAT(stage.scored, ElementsAre(0u));
  EXPECT_EQ(stage.engine.page()->work.working_on(), std::nullopt);
  EXPECT_EQ(stage.engine.park_limit(), limits::park_max);
}

TEST(in_flight, what_waits_for_room_is_not_shown_as_work) {
  device_stage stage(false);
  stage.output.reset();
  edge_ends out = stage.edges.make({.slots = 1, .producer_bell = nullptr, .consumer_bell = nullptr});
  stage.output = std::move(out.consumer);
  stage.engine.outbound() = fan_out();
  stage.engine.outbound().add_edge(stage.engine.outbound().add_branch({}), std::move(out.producer));
  for (const std::uint64_t index : {0u, 1u, 2u, 3u}) stage.send({0, index});
  stage.run();
  EXPECT_EQ(stage.engine.page()->work.working_on(), (micro_batch_id{0, 0}));
  stage.pass(0);
  EXPECT_EQ(stage.engine.page()->work.working_on(), (micro_batch_id{0, 1}));
  stage.pass(1);
  EXPECT_EQ(stage.engine.page()->work.working_on(), std::nullopt)
      << "it waits for the next stage, and no deadline runs";
  EXPECT_THAT(stage.received(), ElementsAre(0u));
  stage.run();
  EXPECT_EQ(stage.engine.page()->work.working_on(), (micro_batch_id{0, 2}));
}

TEST(in_flight, the_end_of_a_call_waits_downstream_for_what_is_in_flight) {
  device_stage stage(false);
  stage.send({0, 0});
  stage.input->send_flush(0);
  stage.send({1, 0});
  stage.run();
  ASSERT_EQ(stage.body->events.size(), 2u);
  EXPECT_EQ(stage.output->flushed_through(), std::nullopt);
  stage.pass(0);
  EXPECT_THAT(stage.received(), ElementsAre(0u));
  EXPECT_EQ(stage.output->flushed_through(), 0u);
}

TEST(in_flight, an_error_of_the_device_fails_the_call_once_and_names_the_micro_batch) {
  device_stage stage(true);
  stage.send({0, 0});
  stage.send({0, 1});
  stage.run();
  for (const auto& each : stage.body->events) each->is_broken = true;
  stage.run();
  ASSERT_EQ(stage.failures.size(), 1u);
  EXPECT_EQ(stage.failures[0].cause.code, error_code::device_failed);
  EXPECT_EQ(stage.failures[0].micro_batch, (micro_batch_id{0, 0}));
  EXPECT_EQ(stage.input->credits(), 8u);
}

TEST(in_flight, a_cancelled_call_is_neither_scored_nor_sent) {
  device_stage stage(true);
  stage.open(1);
  stage.send({0, 0});
  stage.send({1, 0});
  stage.run();
  ASSERT_TRUE(stage.engine.command(stage_command::cancel_call{0}));
  stage.pass(0);
  stage.pass(1);
  stage.input->send_flush(1);
  stage.run();
  ASSERT_EQ(stage.body->events.size(), 2u);
  EXPECT_EQ(stage.scored.size(), 1u) << "0.0 is scored, or 1.0 is not";
  EXPECT_EQ(stage.input->credits(), 8u);
}

TEST(in_flight, a_stop_waits_for_the_device_and_keeps_its_tensors_until_then) {
  device_stage stage(false);
  const auto tensors = stage.send({0, 0});
  stage.run();
  stage.engine.stop();
  stage.run();
  EXPECT_FALSE(stage.has_finished);
  EXPECT_FALSE(tensors.expired()) << "the device still reads them";
  stage.pass(0);
  EXPECT_TRUE(stage.has_finished);
  EXPECT_TRUE(tensors.expired());
  EXPECT_EQ(stage.engine.step(), step_result::finished);
}

TEST(in_flight, a_new_epoch_drops_what_the_old_one_had_in_flight) {
  device_stage stage(false);
  const auto tensors = stage.send({0, 0});
  stage.run();
  auto fresh = std::make_shared<engine_wiring>();
  edge_ends in = stage.edges.make({.slots = 8, .producer_bell = nullptr, .consumer_bell = nullptr});
  edge_ends out = stage.edges.make({.slots = 8, .producer_bell = nullptr, .consumer_bell = nullptr});
  stage.input = std::move(in.producer);
  stage.output = std::move(out.consumer);
  fresh->inbound.push_back({0, std::move(in.consumer)});
  fresh->outbound.add_edge(fresh->outbound.add_branch({}), std::move(out.producer));
  ASSERT_TRUE(stage.engine.command(stage_command::start_epoch{fresh, {0, 0}}));
  stage.send({0, 0});
  stage.run();
  ASSERT_EQ(stage.body->events.size(), 2u) << "the replay runs behind what the device still does";
  EXPECT_FALSE(tensors.expired());
  stage.pass(0);
  EXPECT_THAT(stage.received(), ElementsAre()) << "of the old epoch";
  EXPECT_TRUE(tensors.expired());
  stage.pass(1);
  EXPECT_THAT(stage.received(), ElementsAre(0u));
  EXPECT_EQ(stage.input->credits(), 8u);
}

TEST(in_flight, an_engine_does_not_finish_before_its_device) {
  device_stage stage(false);
  stage.send({0, 0});
  stage.input->close();
  stage.run();
  EXPECT_FALSE(stage.has_finished);
  stage.pass(0);
  EXPECT_THAT(stage.received(), ElementsAre(0u));
  EXPECT_TRUE(stage.has_finished);
}

}  // namespace
}  // namespace troupe
