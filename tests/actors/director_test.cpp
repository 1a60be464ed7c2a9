// Goal: what the director and the aggregator say when a stage is replaced, in orders of events that seeded runs seldom
// meet. Method: the production actors in one thread; the test steps the loader's engine and speaks for the stages.
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "support/directed_run.hpp"

namespace troupe::testing {
namespace {

using ids = std::vector<micro_batch_id>;

TEST(director, lets_nobody_wait_for_a_call_that_ended_while_the_loader_was_paused) {
  directed_run run;
  run.submit(1);
  run.submit(2);
  run.replace_stage_while_folding({0, 0});
  EXPECT_EQ(run.provider->from, (ids{{0, 0}, {1, 0}}))
      << "who is new has not heard of call 0, others have forgotten it";
}

TEST(director, begins_with_the_next_call_when_all_have_ended) {
  directed_run run;
  run.submit(1);
  run.replace_stage_while_folding({0, 0});
  EXPECT_EQ(run.provider->from, (ids{{0, 0}, {1, 0}}));
}

TEST(director, begins_a_resumed_call_where_the_loader_does) {
  directed_run run;
  run.submit(1);
  run.submit(5, 3);
  run.replace_stage_while_folding({0, 0});
  EXPECT_EQ(run.provider->from, (ids{{0, 0}, {1, 3}}));
}

TEST(director, believes_the_loader_within_a_call_that_is_open) {
  directed_run run;
  run.submit(3);
  run.score_of({0, 0});
  run.settle();
  run.replace_stage_while_folding({0, 1});
  EXPECT_EQ(run.provider->from, (ids{{0, 0}, {0, 1}})) << "that is what it sends first";
}

TEST(director, makes_new_edges_when_one_is_silent_though_all_live) {
  directed_run run;
  run.submit(3);
  run.edge_lost_in(run.provider->epoch);
  EXPECT_EQ(run.provider->from, (ids{{0, 0}})) << "a death, told another way, may be behind it";
  run.pass_time(limits::edge_loss_patience);
  EXPECT_EQ(run.provider->from, (ids{{0, 0}, {0, 0}}));
  run.edge_lost_in(run.provider->epoch - 1);
  run.pass_time(limits::edge_loss_patience);
  EXPECT_EQ(run.provider->from.size(), 2u) << "the other end of the same edge says so, too";
}

TEST(director, gives_up_when_edges_are_lost_without_progress) {
  directed_run run;
  run.submit(3);
  for (std::uint32_t time = 0; time < limits::deaths_without_progress_max; ++time) {
    ASSERT_NE(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready) << time;
    run.edge_lost_in(run.provider->epoch);
    run.pass_time(limits::edge_loss_patience);
  }
  ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  EXPECT_EQ(run.outcome.get().cause->code, error_code::peer_lost);
}

TEST(director, sends_lost_work_again) {
  directed_run run;
  run.submit(3);
  run.work_lost_at({0, 1});
  EXPECT_EQ(run.provider->from, (ids{{0, 0}})) << "the mark has moved since";
  post(run.directs, work_lost{{0, 0}, std::chrono::nanoseconds{1}});
  run.settle();
  EXPECT_EQ(run.provider->from, (ids{{0, 0}})) << "what was lost then was sent again since";
  run.work_lost_at({0, 0});
  EXPECT_EQ(run.provider->from, (ids{{0, 0}, {0, 0}}));
}

TEST(director, gives_up_when_work_is_lost_without_progress) {
  directed_run run;
  run.submit(3);
  for (std::uint32_t time = 0; time < limits::deaths_without_progress_max; ++time) {
    ASSERT_NE(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready) << time;
    run.work_lost_at({0, 0});
  }
  ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  const error cause = *run.outcome.get().cause;
  EXPECT_EQ(cause.code, error_code::work_lost);
  EXPECT_EQ(cause.where, "call 0, micro-batch 0");
}

TEST(director, answers_a_call_that_comes_after_a_fatal_failure_with_its_cause) {
  directed_run run;
  post(run.directs,
       failure{run.stage, 0, "stage 0", std::nullopt, {error_code::worker_mismatch, "worker", "no", {}}, 0});
  run.settle();
  const auto expect_an_answer = [&] {
    run.submit(3);
    ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
    const call_outcome outcome = run.outcome.get();
    EXPECT_TRUE(outcome.tally.cancelled);
    EXPECT_EQ(outcome.cause->code, error_code::worker_mismatch);
  };
  expect_an_answer();
  post(run.directs, stopped{.address = run.stage, .incarnation = 0});
  run.settle();
  EXPECT_FALSE(run.ended) << "no stop was asked for, and a submitter waits for an answer";
  expect_an_answer();
  post(run.directs, stop_request{stop_mode::drain});
  run.settle();
  EXPECT_TRUE(run.ended);
}

TEST(director, answers_all_when_the_edges_cannot_be_made) {
  directed_run run;
  run.submit(3);
  run.provider->broken = true;
  post(run.directs, stage_lost{run.stage, 0, {}, std::nullopt});
  post(run.directs, stage_ready{run.stage, ++run.incarnation});
  run.settle();
  ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  const std::optional<error> cause = run.outcome.get().cause;
  EXPECT_EQ(cause->code, error_code::process_failed);
  EXPECT_NE(cause->cause.find("no descriptor is left"), std::string::npos) << to_string(*cause);
}

TEST(director, ends_after_a_failure_that_came_after_the_order_to_stop) {
  directed_run run;
  run.submit(3);
  post(run.directs, stop_request{stop_mode::drain});
  run.settle();
  EXPECT_FALSE(run.ended);
  post(run.directs, failure{run.stage, 0, "stage 0", std::nullopt, {error_code::internal, "stage 0", "no", {}}, 0});
  run.settle();
  EXPECT_EQ(run.outcome.get().cause->code, error_code::internal);
  EXPECT_FALSE(run.ended) << "the stage still runs";
  post(run.directs, stopped{.address = run.stage, .incarnation = 0});
  run.settle();
  EXPECT_TRUE(run.ended);
}

// Found by the simulator: the end of the stream was lost with an edge, or a micro-batch of a call that was given up
// with its credit, and stages waited for them until the time for the stop was over.
TEST(director, waits_for_open_calls_when_it_drains_and_for_nothing_that_is_still_on_its_way) {
  directed_run run;
  run.submit(3);
  run.provider->deaf = true;
  run.replace_stage();
  post(run.directs, stop_request{stop_mode::drain});
  run.settle();
  EXPECT_EQ(*run.provider->told_to_stop, (std::vector<stop_mode>{}));
  post(run.directs, cancel_ticket{run.submitted, {error_code::interrupted, "test", "enough of it", {}}});
  run.settle();
  EXPECT_EQ(*run.provider->told_to_stop, (std::vector{stop_mode::abort}));
}

TEST(director, tells_a_new_loader_of_a_cancelled_call_that_has_ended_meanwhile) {
  directed_run run;
  run.submit(1u << 20);
  const auto given_up = run.source;
  run.while_the_loaders_actor_dies([&] {
    post(run.directs, cancel_ticket{run.submitted, {error_code::interrupted, "test", "enough of it", {}}});
  });
  ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  ASSERT_EQ(run.children.size(), 3u) << "another actor for the loader";
  const std::uint64_t read = given_up->position;
  run.submit(2);
  run.settle();
  EXPECT_EQ(run.source->position, 2u) << "it waits behind the call that was given up";
  EXPECT_EQ(given_up->position, read);
}

TEST(director, tells_a_new_loader_which_calls_are_cut) {
  directed_run run;
  run.submit(1u << 20);
  const auto cut = run.source;
  const std::uint64_t read = cut->position;
  run.while_the_loaders_actor_dies([&] { post(run.directs, cut_calls{}); });
  ASSERT_EQ(run.children.size(), 3u) << "another actor for the loader";
  run.submit(60);
  run.while_the_loaders_actor_dies([] {});
  ASSERT_EQ(run.children.size(), 4u);
  for (int times = 0; times < 6; ++times) run.settle();
  EXPECT_EQ(run.source->position, 60u) << "calls that came after the cut are not cut, whatever dies";
  EXPECT_EQ(cut->position, read);
}

TEST(director, has_stages_send_their_scores_to_the_aggregator_that_replaces_a_dead_one) {
  directed_run run;
  caf::anon_send_exit(run.children.front(), caf::exit_reason::kill);
  run.settle();
  run.submit(1);
  for (int turns = 0; turns < 20; ++turns) {
    static_cast<void>(run.engines->stages.front()->step());
    run.settle();
  }
  EXPECT_FALSE(run.is_open());
}

TEST(aggregator, tells_a_new_loader_the_mark_that_the_old_one_may_not_have_heard) {
  directed_run run;
  run.submit(2);
  caf::anon_send_exit(run.children.back(), caf::exit_reason::kill);
  run.score_of({0, 0});
  run.settle();
  ASSERT_EQ(run.children.size(), 3u);
  EXPECT_EQ(run.engines->loader->low_water(), (micro_batch_id{0, 1}));
}

}  // namespace
}  // namespace troupe::testing
