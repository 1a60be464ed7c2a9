// Goal: what the simulator cannot show, as its steps are atomic: commands that arrive in the middle of a step. Method:
// an edge that gives the engine a command at the very moment it gives it a micro-batch.
#include <gmock/gmock.h>

#include <troupe/runtime/engine/stage_engine.hpp>

namespace troupe {
namespace {

struct nothing final : payload {};

struct echo_body final : stage_body {
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
    activation message;
    message.id = {0, 0};
    message.samples = {0, 1};
    message.tensors = std::make_shared<const nothing>();
    return message;
  }
  void release() noexcept override { ++released; }
  [[nodiscard]] std::optional<call_number> ended_call() const noexcept override {
    return given ? std::optional<call_number>{0} : std::nullopt;
  }
  [[nodiscard]] bool exhausted() const noexcept override { return given; }
  void close() noexcept override {}

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
    ASSERT_TRUE(stage.engine.command(stage_command::begin_call{0, {std::make_shared<counting_scorer>()}}));
  };
  stage.run();
  EXPECT_EQ(stage.scores.size(), 1) << "a micro-batch was dropped, and its call would never end";
  EXPECT_EQ(stage.edge->released, 1);
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
  stage.edge->meanwhile = [&] { ASSERT_TRUE(stage.engine.command(stage_command::stop{})); };
  stage.run();
  EXPECT_TRUE(stage.scores.empty());
  EXPECT_EQ(stage.edge->released, 1);
}

}  // namespace
}  // namespace troupe
