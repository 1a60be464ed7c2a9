// Goal: what one stage that trains does with its inputs, step by step: which action it waits for, when it gives slots
// back, what it tells, and what it takes of later calls. Method: one real engine in one thread; the test has the other
// ends of all edges.
#include <gmock/gmock.h>

#include "one_training_stage.hpp"

namespace troupe::testing {
namespace {

TEST(training_stage, waits_for_the_action_of_its_rule_and_never_does_the_other) {
  one_training_stage stage(1, 3);
  stage.open(0);
  ASSERT_TRUE(stage.send({0, 0}));
  EXPECT_EQ(stage.received(*stage.output), "0.0");
  stage.send_gradient({0, 0});
  EXPECT_EQ(stage.received(*stage.gradients_sent), "") << "the gradient is here, but two micro-batches may be live";
  ASSERT_TRUE(stage.send({0, 1}));
  EXPECT_EQ(stage.received(*stage.output), "0.1");
  EXPECT_EQ(stage.received(*stage.gradients_sent), "0.0");
  ASSERT_TRUE(stage.send({0, 2}));
  EXPECT_EQ(stage.received(*stage.output), "0.2");
  EXPECT_FALSE(stage.send({0, 3})) << "two are live, so that both slots are in use";
}

TEST(training_stage, turns_to_backward_passes_when_the_flush_shows_that_no_forward_is_left) {
  one_training_stage stage(0, 4);
  stage.open(0);
  ASSERT_TRUE(stage.send({0, 0}));
  stage.send_gradient({0, 0});
  EXPECT_EQ(stage.take_heard(), "");
  EXPECT_EQ(stage.output->flushed_through(), std::nullopt);
  stage.flush(0);
  EXPECT_EQ(stage.received(*stage.output), "0.0");
  EXPECT_EQ(stage.output->flushed_through(), 0u);
  EXPECT_EQ(stage.take_heard(), "vote 0 in 1 ");
}

TEST(training_stage, a_live_micro_batch_keeps_its_slot_until_its_gradient_has_been_sent) {
  one_training_stage stage(1, 2);
  stage.open(0);
  for (const std::uint64_t index : {0u, 1u}) ASSERT_TRUE(stage.send({0, index}));
  ASSERT_TRUE(stage.send({0, 2}));
  EXPECT_EQ(stage.input->credits(), 0u) << "two gradients wait on their edge, the third for room";
  EXPECT_EQ(stage.received(*stage.gradients_sent), "0.0");
  stage.run();
  EXPECT_EQ(stage.input->credits(), 1u);
}

TEST(training_stage, scores_come_before_the_vote) {
  one_training_stage stage(1, 2);
  stage.open(0);
  ASSERT_TRUE(stage.send({0, 0}));
  EXPECT_EQ(stage.take_heard(), "") << "the score is not due";
  stage.flush(0);
  EXPECT_EQ(stage.take_heard(), "score 0.0 vote 0 in 1 ");
}

TEST(training_stage, takes_nothing_of_a_later_call_before_the_decision) {
  one_training_stage stage(1, 2);
  stage.open(0);
  stage.open(1);
  stage.open(2, false);
  ASSERT_TRUE(stage.send({0, 0}));
  ASSERT_TRUE(stage.send({1, 0})) << "it says as much as the flush, which the engine has not seen";
  EXPECT_EQ(stage.take_heard(), "score 0.0 vote 0 in 1 ");
  EXPECT_EQ(stage.received(*stage.gradients_sent), "0.0");
  const word before = stage.memory->weights;
  stage.decide(0);
  EXPECT_NE(stage.memory->weights, before);
  EXPECT_EQ(stage.received(*stage.gradients_sent), "1.0");
  ASSERT_TRUE(stage.send({2, 0}));
  EXPECT_EQ(stage.take_heard(), "score 1.0 vote 1 in 1 ");
  EXPECT_EQ(stage.input->credits(), 0u);
  stage.decide(1);
  stage.flush(2);
  EXPECT_EQ(stage.take_heard(), "score 2.0 ");
  EXPECT_EQ(stage.input->credits(), 1u);
}

TEST(training_stage, an_evaluation_keeps_nothing) {
  one_training_stage stage(0, 2);
  stage.open(0, false);
  for (std::uint64_t index = 0; index < 5; ++index) {
    ASSERT_TRUE(stage.send({0, index}));
    EXPECT_EQ(stage.received(*stage.output), "0." + std::to_string(index));
    stage.run();
    EXPECT_EQ(stage.input->credits(), 2u);
  }
  EXPECT_EQ(stage.body->most_kept, 0u);
}

TEST(training_stage, a_step_without_micro_batches_ends_with_a_vote_all_the_same) {
  one_training_stage stage(0, 2);
  stage.open(0);
  stage.open(1);
  stage.flush(0);
  EXPECT_EQ(stage.take_heard(), "vote 0 in 1 ");
  stage.flush(1);
  EXPECT_EQ(stage.take_heard(), "");
  stage.decide(0);
  EXPECT_EQ(stage.take_heard(), "vote 1 in 1 ");
}

TEST(training_stage, empty_parts_pass_both_ways_and_the_body_is_not_called) {
  one_training_stage stage(1, 3);
  stage.open(0);
  activation empty = stage.message({0, 0});
  empty.tensors = nullptr;
  empty.rows = std::make_shared<const row_set>();
  activation gradient = empty;
  ASSERT_EQ(stage.input->try_send(empty), send_status::sent);
  stage.flush(0);
  EXPECT_EQ(stage.received(*stage.output), "0.0 empty");
  ASSERT_EQ(stage.gradients->try_send(gradient), send_status::sent);
  stage.run();
  EXPECT_EQ(stage.received(*stage.gradients_sent), "0.0 empty");
  EXPECT_EQ(stage.body->most_kept, 0u);
  EXPECT_EQ(stage.take_heard(), "vote 0 in 1 ");
}

TEST(training_stage, replicas_send_their_sums_and_wait_for_those_of_the_others) {
  one_training_stage stage(0, 1, 3);
  stage.open(0);
  ASSERT_TRUE(stage.send({0, 0}));
  stage.flush(0);
  EXPECT_EQ(stage.take_heard(), "score 0.0 ");
  for (auto& each : stage.peers) EXPECT_EQ(stage.received(*each.from_engine), "0.0");
  activation sum = stage.message({0, 0});
  ASSERT_EQ(stage.peers[1].to_engine->try_send(sum), send_status::sent);
  stage.run();
  EXPECT_EQ(stage.take_heard(), "");
  activation none{.id = {0, 0}, .samples = {}, .tensors = nullptr, .labels = nullptr};
  none.rows = std::make_shared<const row_set>();
  ASSERT_EQ(stage.peers[0].to_engine->try_send(none), send_status::sent);
  stage.run();
  EXPECT_EQ(stage.take_heard(), "vote 0 in 1 ");
  const word own = mix(
      9, formula::weight_gradient(stage.memory->weights, input_of({0, 0}),
                                  formula::loss_gradient(formula::forward(stage.memory->weights, input_of({0, 0})))));
  EXPECT_EQ(stage.memory->gradient, formula::gradient({own, std::nullopt, input_of({0, 0})})) << "in their order";
  for (auto& each : stage.peers) EXPECT_EQ(each.to_engine->credits(), 2u);
}

TEST(training_stage, a_cancellation_gives_back_the_sums_that_are_here) {
  one_training_stage stage(0, 1, 3);
  stage.open(0);
  stage.flush(0);
  activation sum = stage.message({0, 0});
  ASSERT_EQ(stage.peers[0].to_engine->try_send(sum), send_status::sent);
  stage.run();
  ASSERT_EQ(stage.peers[0].to_engine->credits(), 1u);
  stage.order(stage_command::cancel_call{0});
  stage.run();
  EXPECT_EQ(stage.peers[0].to_engine->credits(), 2u);
}

TEST(training_stage, a_sum_of_a_cancelled_step_is_dropped_and_one_of_the_next_waits) {
  one_training_stage stage(0, 1, 2);
  stage.open(0);
  stage.open(1);
  stage.flush(0);
  ASSERT_EQ(stage.received(*stage.peers[0].from_engine), "0.0 empty");
  activation sum = stage.message({1, 0});
  ASSERT_EQ(stage.peers[0].to_engine->try_send(sum), send_status::sent) << "the peer has heard of the end of call 0";
  stage.run();
  EXPECT_EQ(stage.take_heard(), "");
  stage.order(stage_command::cancel_call{0});
  stage.flush(1);
  EXPECT_EQ(stage.take_heard(), "vote 1 in 1 ");
  EXPECT_EQ(stage.peers[0].to_engine->credits(), 2u);
}

TEST(training_stage, a_gradient_that_is_left_over_from_a_cancelled_step_is_dropped) {
  one_training_stage stage(0, 2);
  stage.open(0);
  stage.open(1);
  ASSERT_TRUE(stage.send({0, 0}));
  ASSERT_EQ(stage.received(*stage.output), "0.0");
  stage.order(stage_command::cancel_call{0});
  stage.run();
  EXPECT_EQ(stage.input->credits(), 2u);
  EXPECT_EQ(stage.body->drops, 2) << "one at the start of the epoch";
  stage.send_gradient({0, 0});
  ASSERT_TRUE(stage.send({1, 0}));
  stage.flush(1);
  stage.send_gradient({1, 0});
  EXPECT_EQ(stage.gradients->credits(), 2u);
  EXPECT_EQ(stage.take_heard(), "vote 1 in 1 ");
  EXPECT_TRUE(stage.failures.empty());
}

TEST(training_stage, finishes_when_its_sender_has_closed_in_the_middle_of_no_step) {
  one_training_stage idle(0, 1);
  idle.input->close();
  idle.run();
  EXPECT_EQ(idle.take_heard(), "finished ");

  one_training_stage voted(0, 1);
  voted.open(0);
  voted.flush(0);
  voted.input->close();
  voted.run();
  EXPECT_EQ(voted.take_heard(), "vote 0 in 1 ");
  voted.decide(0);
  EXPECT_EQ(voted.take_heard(), "finished ");
}

TEST(training_stage, the_page_shows_both_passes_and_takes_the_median_of_forwards) {
  using namespace std::chrono_literals;
  one_training_stage stage(0, 1);
  stage.open(0);
  const engine_page& page = *stage.engine.page();
  std::vector<std::optional<micro_batch_id>> seen;
  stage.body->on_forward = [&](micro_batch_id) {
    seen.push_back(page.work.working_on());
    stage.now += 10ms;
  };
  stage.body->on_backward = [&](micro_batch_id) {
    seen.push_back(page.work.working_on());
    stage.now += 90ms;
  };
  for (std::uint64_t index = 0; index < limits::stall_forwards_min; ++index) ASSERT_TRUE(stage.send({0, index}));
  EXPECT_EQ(seen[2], (micro_batch_id{0, 1}));
  EXPECT_EQ(seen[3], (micro_batch_id{0, 1}));
  EXPECT_EQ(page.work.working_on(), std::nullopt);
  EXPECT_EQ(page.work.median(), 10ms);
  const auto passes = static_cast<std::uint64_t>(limits::stall_forwards_min);
  EXPECT_EQ(page.counters.micro_batches.load(), passes);
  EXPECT_EQ(page.counters.samples.load(), 10 * passes);
  EXPECT_EQ(page.counters.forward_ns.load(), 10'000'000 * passes);
  EXPECT_EQ(page.counters.busy_ns.load(), 100'000'000 * passes);
}

TEST(training_stage, the_trace_has_the_instructions_of_the_schedule) {
  trace_clock clock;
  auto memory = std::make_shared<stage_memory>();
  training_stage_engine engine({.name = "stage 1", .address = {1, 0}, .stages = 3, .trace = &clock},
                               std::make_shared<hash_training_body>(memory, false));
  inproc_edge_factory edges;
  const auto edge = [&] { return edges.make({.slots = 2, .producer_bell = nullptr, .consumer_bell = nullptr}); };
  edge_ends in = edge(), out = edge(), up = edge(), down = edge();
  auto wiring = std::make_shared<engine_wiring>();
  wiring->inbound.push_back({0, std::move(in.consumer)});
  wiring->outbound.add_edge(wiring->outbound.add_branch({}), std::move(out.producer));
  wiring->gradients_in = std::move(down.consumer);
  wiring->gradients_out = std::move(up.producer);
  ASSERT_TRUE(engine.command(stage_command::open_call{.call = 0, .scorers = {}, .trains = true}));
  ASSERT_TRUE(engine.command(stage_command::start_epoch{wiring, {0, 0}, 1}));
  activation input = one_training_stage::message({0, 0});
  activation gradient = input;
  ASSERT_EQ(in.producer->try_send(input), send_status::sent);
  ASSERT_EQ(down.producer->try_send(gradient), send_status::sent);
  in.producer->send_flush(0);
  for (int steps = 0; steps < 20; ++steps) static_cast<void>(engine.step());
  ASSERT_TRUE(engine.command(stage_command::decide_step{}));
  for (int steps = 0; steps < 20; ++steps) static_cast<void>(engine.step());
  std::string names;
  for (const trace_event& each : engine.trace()->events()) names += std::string(instruction_letters(each.what)) + " ";
  EXPECT_EQ(names, "RA F SA RG B SG R O ");
  EXPECT_TRUE(std::ranges::adjacent_find(engine.trace()->events(), std::ranges::greater_equal{}, &trace_event::order) ==
              engine.trace()->events().end());
}

}  // namespace
}  // namespace troupe::testing
