// Goal: what decisions, cancellations and new epochs do to a step that one stage is in, in whichever order they come,
// and what a call is that begins while its first micro-batch is received. Method: one real engine in one thread; the
// test has the other ends of all edges.
#include <gmock/gmock.h>

#include "one_training_stage.hpp"

namespace troupe::testing {
namespace {

TEST(training_commands, whichever_comes_first_of_decision_and_cancellation_counts) {
  for (const bool decided_first : {true, false}) {
    one_training_stage stage(0, 1);
    stage.open(0);
    ASSERT_TRUE(stage.send({0, 0}));
    stage.flush(0);
    const word before = stage.memory->weights;
    if (decided_first) stage.decide(0);
    stage.order(stage_command::cancel_call{0});
    stage.decide(0);
    EXPECT_EQ(stage.memory->weights != before, decided_first);
    stage.order(stage_command::release_call{0});
    stage.open(1);
    ASSERT_TRUE(stage.send({1, 0}));
    stage.flush(1);
    EXPECT_THAT(stage.take_heard(), ::testing::EndsWith("vote 1 in 1 "));
    EXPECT_TRUE(stage.failures.empty());
  }
}

TEST(training_commands, waits_for_the_decision_of_a_step_before_the_first_call_of_its_epoch) {
  one_training_stage stage(0, 1);
  stage.open(0);
  stage.open(1);
  ASSERT_TRUE(stage.send({0, 0}));
  stage.flush(0);
  stage.start_epoch({1, 0}, 0, 1);
  ASSERT_TRUE(stage.send({1, 0}));
  stage.flush(1);
  EXPECT_EQ(stage.take_heard(), "score 0.0 vote 0 in 1 ") << "neither a vote once more, nor one for call 1";
  stage.decide(0);
  EXPECT_EQ(stage.take_heard(), "score 1.0 vote 1 in 2 ");
}

TEST(training_commands, a_decision_ends_the_repetition_of_its_step) {
  one_training_stage stage(1, 2);
  stage.open(0);
  stage.open(1);
  for (const std::uint64_t index : {0u, 1u}) ASSERT_TRUE(stage.send({0, index}));
  stage.flush(0);
  EXPECT_EQ(stage.take_heard(), "score 0.0 score 0.1 vote 0 in 1 ");
  stage.start_epoch({0, 0}, 1, 2);
  ASSERT_TRUE(stage.send({0, 0}));
  EXPECT_EQ(stage.received(*stage.gradients_sent), "0.0");
  stage.decide(0);
  const word after = stage.memory->weights;
  ASSERT_TRUE(stage.send({0, 1}));
  stage.flush(0);
  EXPECT_EQ(stage.received(*stage.gradients_sent), "") << "a replay of a step that is over";
  ASSERT_TRUE(stage.send({1, 0}));
  stage.flush(1);
  EXPECT_THAT(stage.take_heard(), ::testing::EndsWith("vote 1 in 2 "));
  EXPECT_EQ(stage.memory->weights, after);
}

TEST(training_commands, a_decision_gives_back_what_lives_of_the_repetition) {
  one_training_stage stage(0, 2);
  stage.open(0);
  stage.open(1);
  ASSERT_TRUE(stage.send({0, 0}));
  stage.flush(0);
  stage.send_gradient({0, 0});
  ASSERT_EQ(stage.take_heard(), "vote 0 in 1 ");
  stage.start_epoch({0, 0}, 0, 2);
  activation again = stage.message({0, 0});
  const std::weak_ptr<const payload> held = again.tensors;
  ASSERT_EQ(stage.input->try_send(again), send_status::sent);
  again = {};
  stage.run();
  ASSERT_EQ(stage.input->credits(), 1u);
  const int drops = stage.body->drops;
  stage.decide(0);
  EXPECT_EQ(stage.input->credits(), 2u);
  EXPECT_TRUE(held.expired()) << "its memory may be that of the slot";
  EXPECT_EQ(stage.body->drops, drops + 1);
}

TEST(training_commands, a_cancellation_takes_the_scores_that_wait_along) {
  one_training_stage stage(1, 2);
  stage.open(0);
  stage.open(1);
  ASSERT_TRUE(stage.send({0, 0}));
  stage.order(stage_command::cancel_call{0});
  stage.run();
  stage.flush(1);
  EXPECT_EQ(stage.take_heard(), "vote 1 in 1 ");
}

/// Gives one micro-batch, and does `meanwhile` after the engine has looked at its commands and before it has the
/// message.
struct interrupting_consumer final : edge_consumer {
  [[nodiscard]] std::optional<activation> try_receive() override {
    if (std::exchange(given, true)) return std::nullopt;
    meanwhile();
    return one_training_stage::message({0, 0});
  }
  void release() noexcept override { ++released; }
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    return given ? std::optional<call_number>{0} : std::nullopt;
  }
  [[nodiscard]] bool exhausted() const noexcept override { return false; }
  void close() noexcept override {}
  void abandon() noexcept override {}

  std::function<void()> meanwhile = [] {};
  bool given = false;
  int released = 0;
};

TEST(training_commands, a_call_that_begins_while_its_first_micro_batch_is_received_is_not_over) {
  for (const bool is_opened : {true, false}) {
    one_training_stage stage(0, 1);
    auto edge = std::make_unique<interrupting_consumer>();
    const interrupting_consumer& seen = *edge;
    if (is_opened) {
      edge->meanwhile = [&] {
        stage.order(
            stage_command::open_call{.call = 0, .scorers = {std::make_shared<hash_output_scorer>()}, .trains = true});
      };
    }
    auto wiring = std::make_shared<engine_wiring>();
    wiring->inbound.push_back({0, std::move(edge)});
    stage.order(stage_command::start_epoch{std::move(wiring), {0, 0}, 2});
    stage.run();
    EXPECT_EQ(stage.take_heard(), is_opened ? "score 0.0 vote 0 in 2 " : "");
    EXPECT_EQ(seen.released, 1);
  }
}

TEST(training_commands, an_incarnation_that_is_told_a_decision_carries_it_out_before_it_has_edges) {
  auto memory = std::make_shared<stage_memory>();
  *memory = {.weights = 1, .finished = 4, .gradient = 2, .decided = 3};
  training_stage_engine engine({.name = "stage 0", .address = {}}, std::make_shared<hash_training_body>(memory, true));
  ASSERT_TRUE(engine.command(stage_command::decide_step{{.call = 4, .step = 9}}));
  for (int steps = 0; steps < 3; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(memory->weights, formula::updated(1, 2, 9));
}

}  // namespace
}  // namespace troupe::testing
