// Goal: a failure, a cancellation or a stop at any moment of a training step costs that step alone, or ends the engine,
// and the weights of the other steps are those of a plain loop. Method: real engines in one thread; bodies that throw;
// moments that are spread over the whole run.
#include <gmock/gmock.h>

#include "one_training_stage.hpp"
#include "refusing_producer.hpp"
#include "tests/support/sanitized.hpp"
#include "training_pipeline.hpp"

namespace troupe::testing {
namespace {

const std::vector<planned_call> four_calls{{.trains = true, .micro_batches = 4},
                                           {.trains = false, .micro_batches = 3},
                                           {.trains = true, .micro_batches = 5, .empty = {1}},
                                           {.trains = true, .micro_batches = 2}};

void expect_outcome_without_cancelled(training_pipeline& run, const training_setup& setup) {
  ASSERT_TRUE(run.run()) << "it is blocked";
  std::vector<planned_call> calls = setup.calls;
  for (const call_number each : run.cancelled()) calls[each].is_cancelled = true;
  ASSERT_EQ(run.outcome(), plain_training(setup.stages, setup.replicas, calls));
  ASSERT_TRUE(run.has_all_slots_back());
  ASSERT_TRUE(run.stop());
}

TEST(training_failures, a_call_that_is_cancelled_at_any_moment_leaves_the_others_untouched) {
  const std::uint64_t moments = sanitized ? 20 : 100;
  for (const std::uint32_t replicas : {1u, 2u}) {
    const training_setup setup{.stages = 3, .replicas = replicas, .calls = four_calls};
    training_pipeline undisturbed(setup);
    ASSERT_TRUE(undisturbed.run());
    std::set<call_number> hit;
    for (std::uint64_t each = 0; each < moments; ++each) {
      SCOPED_TRACE("moment " + std::to_string(each));
      training_pipeline run(setup);
      const std::uint64_t until = undisturbed.turns() * each / moments;
      run.run_until([&] { return run.turns() >= until; });
      run.cancel(each % 4);
      hit.insert(run.cancelled().begin(), run.cancelled().end());
      ASSERT_NO_FATAL_FAILURE(expect_outcome_without_cancelled(run, setup));
    }
    EXPECT_EQ(hit.size(), 4u);
  }
}

TEST(training_failures, a_stop_at_any_moment_finishes_every_engine) {
  const std::uint64_t moments = sanitized ? 20 : 100;
  const training_setup setup{.stages = 3, .replicas = 2, .calls = four_calls};
  training_pipeline undisturbed(setup);
  ASSERT_TRUE(undisturbed.run());
  for (std::uint64_t each = 0; each < moments; ++each) {
    training_pipeline run(setup);
    const std::uint64_t until = undisturbed.turns() * each / moments;
    run.run_until([&] { return run.turns() >= until; });
    ASSERT_TRUE(run.stop()) << "moment " << each;
  }
}

// Throws at its second micro-batch of call 2, as often as the parameter says.
class failing_pass : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(times, failing_pass, ::testing::Values(1, 2));

TEST_P(failing_pass, of_a_forward_is_tried_once_more) {
  const training_setup setup{.stages = 3, .calls = four_calls};
  training_pipeline run(setup);
  int left = GetParam();
  run.at({1, 0}).body->on_forward = [&](micro_batch_id id) {
    if (id == micro_batch_id{2, 2} && left-- > 0) throw std::runtime_error("bad weather");
  };
  ASSERT_NO_FATAL_FAILURE(expect_outcome_without_cancelled(run, setup));
  ASSERT_EQ(run.failures.size(), GetParam() == 1 ? 0u : 1u);
  if (run.failures.empty()) return;
  const failure& told = run.failures.front();
  EXPECT_EQ(told.micro_batch, (micro_batch_id{2, 2}));
  EXPECT_EQ(told.attempts, 2u);
  EXPECT_EQ(told.cause.code, error_code::forward_failed);
  EXPECT_EQ(told.cause.where, "stage 1, training step, call 2, micro-batch 2, samples 2 to 2");
  EXPECT_EQ(told.cause.cause, "the stage threw: bad weather");
}

TEST(training_failures, a_backward_pass_is_not_tried_again_as_it_has_changed_the_sum) {
  const training_setup setup{.stages = 3, .calls = four_calls};
  training_pipeline run(setup);
  int calls = 0;
  run.at({1, 0}).body->on_backward = [&](micro_batch_id id) {
    if (id != micro_batch_id{2, 2}) return;
    ++calls;
    throw std::runtime_error("bad weather");
  };
  ASSERT_NO_FATAL_FAILURE(expect_outcome_without_cancelled(run, setup));
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(run.failures.size(), 1u);
  EXPECT_EQ(run.failures.front().cause.where, "stage 1, training step, call 2, micro-batch 2, samples 2 to 2");
}

class failing_end : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(kinds, failing_end, ::testing::Values("sum", "finish"));

TEST_P(failing_end, costs_its_step_alone) {
  const training_setup setup{.stages = 2, .replicas = 2, .calls = four_calls};
  training_pipeline run(setup);
  bool has_failed = false;
  run.at({1, 1}).body->on_end = [&](const std::string& what) {
    if (what == GetParam() && !std::exchange(has_failed, true)) throw std::runtime_error("bad weather");
  };
  ASSERT_NO_FATAL_FAILURE(expect_outcome_without_cancelled(run, setup));
  ASSERT_EQ(run.failures.size(), 1u);
  EXPECT_EQ(run.failures.front().micro_batch, (micro_batch_id{0, 0}));
  EXPECT_EQ(run.failures.front().cause.where, "stage 1, training step, call 0");
}

TEST(training_failures, a_decision_that_cannot_be_carried_out_is_a_failure_of_the_stage_until_it_is_repeated) {
  one_training_stage stage(0, 1);
  stage.open(0);
  stage.open(1);
  ASSERT_TRUE(stage.send({0, 0}));
  stage.flush(0);
  ASSERT_EQ(stage.take_heard(), "score 0.0 vote 0 in 1 ");
  stage.body->on_end = [](const std::string& what) {
    if (what == "apply") throw std::runtime_error("no memory");
  };
  stage.decide(0);
  ASSERT_EQ(stage.failures.size(), 1u);
  EXPECT_EQ(stage.failures.front().micro_batch, std::nullopt);
  EXPECT_EQ(stage.failures.front().cause.where, "stage 0, decision about the training step of call 0");
  stage.flush(1);
  EXPECT_EQ(stage.take_heard(), "") << "the next step would begin with old weights";
  stage.body->on_end = nullptr;
  stage.decide(0);
  EXPECT_EQ(stage.take_heard(), "vote 1 in 1 ");
}

TEST(training_failures, a_decision_about_a_gradient_that_is_not_here_is_a_failure_of_the_stage) {
  one_training_stage stage(0, 1);
  stage.open(8);
  stage.decide(7);
  ASSERT_EQ(stage.failures.size(), 1u);
  EXPECT_EQ(stage.failures.front().cause.code, error_code::training_state_lost);
  EXPECT_EQ(stage.failures.front().micro_batch, std::nullopt);
  stage.flush(8);
  EXPECT_EQ(stage.take_heard(), "");
  stage.start_epoch({8, 0}, 0, 1);
  stage.flush(8);
  EXPECT_EQ(stage.take_heard(), "") << "a new epoch does not bring the weights";
}

TEST(training_failures, a_gradient_of_another_micro_batch_costs_the_step) {
  one_training_stage stage(0, 2);
  stage.open(0);
  ASSERT_TRUE(stage.send({0, 0}));
  stage.flush(0);
  stage.send_gradient({0, 1});
  ASSERT_EQ(stage.failures.size(), 1u);
  EXPECT_EQ(stage.failures.front().cause.code, error_code::wire_malformed);
  EXPECT_EQ(stage.failures.front().micro_batch, (micro_batch_id{0, 0}));
  EXPECT_EQ(stage.gradients->credits(), 2u);
  EXPECT_EQ(stage.input->credits(), 2u);
}

struct throwing_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr&, const activation&, score&) override {
    throw std::runtime_error("no such class");
  }
};

TEST(training_failures, a_score_that_cannot_be_made_costs_the_step) {
  one_training_stage stage(1, 2);
  stage.order(stage_command::open_call{.call = 0, .scorers = {std::make_shared<throwing_scorer>()}, .trains = true});
  ASSERT_TRUE(stage.send({0, 0}));
  stage.flush(0);
  ASSERT_EQ(stage.failures.size(), 1u);
  EXPECT_EQ(stage.failures.front().cause.code, error_code::metric_failed);
  EXPECT_EQ(stage.take_heard(), "") << "no vote";
  EXPECT_EQ(stage.input->credits(), 1u);
  EXPECT_EQ(stage.received(*stage.gradients_sent), "");
}

// The refused call is the first one, and the second one gets through.
TEST(training_failures, an_edge_that_cannot_carry_a_gradient_or_an_output_costs_the_step) {
  for (const bool is_last : {true, false}) {
    one_training_stage stage(is_last ? 1 : 0, 2);
    std::vector<micro_batch_id> sent;
    auto wiring = std::make_shared<engine_wiring>();
    edge_ends in = stage.edge(2);
    edge_ends up = stage.edge(2);
    wiring->inbound.push_back({0, std::move(in.consumer)});
    auto refusing = std::make_unique<refusing_producer>(0, sent);
    if (is_last) {
      wiring->gradients_out = std::move(refusing);
    } else {
      wiring->outbound.add_edge(wiring->outbound.add_branch({}), std::move(refusing));
      wiring->gradients_in = std::move(up.consumer);
    }
    stage.order(stage_command::start_epoch{wiring, {0, 0}, 2});
    stage.input = std::move(in.producer);
    stage.open(0);
    stage.open(1);
    ASSERT_TRUE(stage.send({0, 0}));
    ASSERT_EQ(stage.failures.size(), 1u);
    EXPECT_THAT(stage.failures.front().cause.cause, ::testing::HasSubstr("cannot be sent: no memory for it"));
    ASSERT_TRUE(stage.send({1, 0}));
    EXPECT_EQ(sent, (std::vector<micro_batch_id>{{1, 0}}));
  }
}

TEST(training_failures, a_body_that_cannot_start_is_a_failure_of_the_run) {
  struct lame_body final : training_body {
    void on_start() override { throw std::runtime_error("no device"); }
    [[nodiscard]] expected<void> forward(const activation&, activation&) override { return {}; }
    [[nodiscard]] expected<void> evaluate(const activation&, activation&) override { return {}; }
    [[nodiscard]] expected<payload_ptr> backward(micro_batch_id, const payload_ptr&) override { return nullptr; }
    [[nodiscard]] expected<payload_ptr> sum_of_gradients() override { return nullptr; }
    [[nodiscard]] expected<void> finish(call_number, std::span<const payload_ptr>, std::span<const payload_ptr>,
                                        step_vote&) override {
      return {};
    }
    [[nodiscard]] expected<void> apply(const step_decision&) override { return {}; }
    void drop() noexcept override {}
  };
  training_stage_engine engine({.name = "stage 0", .address = {}}, std::make_shared<lame_body>());
  std::vector<failure> failures;
  stage_listener listener;
  listener.on_ready = [] { FAIL() << "it is not ready"; };
  listener.on_failure = [&](failure what) { failures.push_back(std::move(what)); };
  engine.listen(std::move(listener));
  engine.on_thread_start();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.front().micro_batch, std::nullopt);
  EXPECT_EQ(failures.front().cause.cause, "it could not start: no device");
}

TEST(training_failures, commands_that_cannot_be_true_are_broken_invariants) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto given = [](stage_command_t command) {
    one_training_stage stage(0, 1);
    stage.open(1);
    stage.order(std::move(command));
    stage.run();
  };
  using open = stage_command::open_call;
  const std::vector<std::shared_ptr<scorer>> one{std::make_shared<hash_output_scorer>()};
  EXPECT_DEATH(given(open{.call = 0, .scorers = one, .trains = true}), "opened in their order");
  EXPECT_DEATH(given(open{.call = 2, .scorers = {}, .trains = true}), "every sink scores every call");
  EXPECT_DEATH(given(open{.call = 2, .first = 1, .scorers = one, .trains = true}), "a step is done as a whole");
  EXPECT_DEATH(given(stage_command::release_call{1}), "decided or cancelled");
  EXPECT_DEATH(given(stage_command::start_epoch{std::make_shared<engine_wiring>(), {0, 0}, 2}), "one edge between");
  EXPECT_DEATH(
      {
        one_training_stage stage(0, 1);
        stage.open(1);
        stage.start_epoch({1, 1}, 0, 1);
      },
      "a step is done as a whole");
  EXPECT_DEATH(
      {
        one_training_stage stage(0, 2);
        stage.open(1);
        static_cast<void>(stage.send({1, 0}));
        stage.decide(0);
      },
      "a decision comes before the epoch");
}

}  // namespace
}  // namespace troupe::testing
