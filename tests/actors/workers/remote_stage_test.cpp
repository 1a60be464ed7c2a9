// Goal: a stage answers for the deaths of its own workers, and for no others. Method: the production pool and actors,
// workers that the test ends at chosen moments, in virtual time.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_workers.hpp"
#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr stage_address first{0, 0};

TEST(remote_stage, asks_for_another_worker_when_the_one_it_is_given_is_dead) {
  fake_workers workers(1);
  workers.all()[0].worker->takes_blobs = false;  // dead, and its end is not told yet
  workers.says_hello(workers.all()[0]);
  ASSERT_EQ(workers.worker_of(first), workers.all()[0].worker);
  workers.is_shot(workers.all()[0]);
  EXPECT_TRUE(workers.news().lost.empty()) << to_string(workers.news().lost.front().cause);
  workers.says_hello(workers.newest());
  EXPECT_EQ(workers.worker_of(first), workers.all()[1].worker);
  EXPECT_TRUE(workers.news().lost.empty());
}

TEST(remote_stage, logs_the_end_of_a_worker_that_dies_before_it_begins) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.is_shot(workers.all()[0]);
  EXPECT_THAT(workers.log(), ElementsAre("warning: [stage 0, rank 0] worker 0 (process 1000) ended before it began on "
                                         "its stage: killed by SIGKILL"));
  workers.says_hello(workers.newest());
  workers.begins(first);
  workers.is_shot(workers.all()[1]);
  EXPECT_EQ(workers.log().size(), 1U) << "the director tells of this one, with its replacement";
}

TEST(remote_stage, logs_no_end_that_the_stop_of_the_run_brings) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.is_told_to_stop(first);
  workers.is_shot(workers.all()[0]);
  EXPECT_THAT(workers.log(), ElementsAre());
}

/// Found by the simulator: the run waited for the end of a worker that nothing told to end.
TEST(remote_stage, asks_for_no_other_worker_when_the_run_stops) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.is_told_to_stop(first);
  workers.is_shot(workers.all()[0]);
  EXPECT_EQ(workers.news().lost.size(), 1u);
  workers.says_hello(workers.newest());
  EXPECT_EQ(workers.worker_of(first), workers.all()[0].worker);
}

TEST(remote_stage, does_not_count_a_worker_that_dies_before_it_begins) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.is_shot(workers.all()[0]);  // it was told what to become, and has not begun
  EXPECT_TRUE(workers.news().lost.empty());
  workers.says_hello(workers.newest());
  workers.begins(first);
  workers.ends(workers.all()[1], exit_kind::signalled, SIGSEGV);
  ASSERT_EQ(workers.news().lost.size(), 1u) << "this one dies of becoming the stage";
  EXPECT_THAT(workers.news().lost.front().cause.cause, HasSubstr("killed by SIGSEGV"));
}

TEST(remote_stage, gives_up_when_every_worker_is_dead_already) {
  fake_workers workers(1);
  while (workers.news().failures.empty()) {
    ASSERT_LE(workers.all().size(), limits::workers_dead_when_given_max) << "without end";
    auto& given = workers.newest();
    workers.says_hello(given);  // another one is started as a spare
    ASSERT_EQ(workers.worker_of(first), given.worker);
    workers.is_shot(given);
  }
  EXPECT_TRUE(workers.news().lost.empty());
  const error cause = workers.news().failures.front().cause;
  EXPECT_EQ(cause.code, error_code::process_failed);
  EXPECT_EQ(cause.where, "stage 0 (process 1000)") << "the first one";
  EXPECT_THAT(cause.cause, HasSubstr("killed by SIGKILL"));
}

TEST(remote_stage, is_not_hurt_by_the_link_of_a_worker_before) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.breaks_link(workers.all()[0]);
  workers.is_shot(workers.all()[0]);
  workers.says_hello(workers.newest());
  ASSERT_EQ(workers.worker_of(first), workers.all()[1].worker);
  workers.pass(2s);
  EXPECT_EQ(workers.all()[1].worker->killed_for(), "");
}

TEST(remote_stage, names_the_end_of_a_process_that_comes_a_while_after_its_links) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.begins(first);
  workers.breaks_link(workers.all()[0]);
  workers.pass(800ms);
  EXPECT_EQ(workers.all()[0].worker->killed_for(), "");
  workers.is_shot(workers.all()[0]);
  ASSERT_EQ(workers.news().lost.size(), 1u);
  EXPECT_THAT(workers.news().lost.front().cause.cause, HasSubstr("killed by SIGKILL"));
}

TEST(remote_stage, kills_a_worker_whose_link_is_broken) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.breaks_link(workers.all()[0]);
  workers.pass(2s);
  EXPECT_THAT(workers.all()[0].worker->killed_for(), HasSubstr("it was silent for"));
}

TEST(remote_stage, gives_a_worker_its_time_to_become_the_stage_and_no_more) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.begins(first);
  workers.freeze(2 * workers.setup().asked.start_deadline);
  EXPECT_EQ(workers.all()[0].worker->killed_for(), "") << "this process was frozen, not only the worker";
  workers.pass(workers.setup().asked.start_deadline);
  EXPECT_THAT(workers.all()[0].worker->killed_for(), HasSubstr("it did not become its stage within"));
}

TEST(remote_stage, says_what_to_become_to_the_worker_that_it_is_given) {
  fake_workers workers(1);
  auto& given = *workers.all()[0].worker;
  workers.says_hello(workers.all()[0]);
  EXPECT_EQ(given.name(), "stage 0");
  ASSERT_EQ(given.sent.size(), 1U);
  const auto told = codec::decode<worker_assignment>(given.sent.front());
  ASSERT_TRUE(told) << to_string(told.error());
  EXPECT_EQ(told->address, first);
  EXPECT_TRUE(workers.newest().worker->sent.empty()) << "the spare waits";
}

TEST(remote_stage, believes_no_worker_that_died_on_what_was_never_sent) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.begins(first);
  workers.all()[0].worker->now.working_on = micro_batch_id{0, 7};
  workers.is_shot(workers.all()[0]);
  ASSERT_EQ(workers.news().lost.size(), 1U);
  EXPECT_EQ(workers.news().lost.front().working_on, std::nullopt) << "it was never sent";
  EXPECT_EQ(workers.news().lost.front().cause.where, "stage 0 (process 1000)");
}

TEST(worker_registry, ends_the_worker_that_sat_there_when_it_was_asked_for) {
  fake_workers workers(2);
  workers.says_hello(workers.all()[0]);
  workers.says_hello(workers.all()[1]);
  worker_registry registry;
  registry.put(first, {workers.all()[0].worker, 0});
  const auto end = registry.kill_switch_of(first);
  registry.put(first, {workers.all()[1].worker, 0});
  end({error_code::wire_malformed, "edge", "nonsense", {}});
  EXPECT_THAT(workers.all()[0].worker->killed_for(), HasSubstr("nonsense"));
  EXPECT_EQ(workers.all()[1].worker->killed_for(), "") << "it has written nothing there";
  EXPECT_FALSE(static_cast<bool>(registry.kill_switch_of({1, 0}))) << "a stage of this process";
}

TEST(remote_stage, that_was_ready_is_lost_also_where_its_telemetry_is_late) {
  fake_workers workers(1);
  auto& one = workers.all()[0];
  workers.says_hello(one);
  one.listener->said(one.worker, *codec::encode(stage_ready{first, 0}));
  workers.settle();
  workers.ends(one, exit_kind::lost, 0);
  EXPECT_EQ(workers.news().lost.size(), 1U);
}

TEST(remote_stage, takes_its_next_worker_from_where_the_stage_is_placed_now) {
  fake_workers workers(1);
  workers.next_live_on(fake_workers::place::second);
  workers.says_hello(workers.all()[0]);
  workers.is_shot(workers.all()[0]);  // before it began: the stage asks for another one
  ASSERT_FALSE(workers.second_host().members.empty());
  auto& moved = workers.second_host().members.front();
  workers.says_hello(moved);
  EXPECT_EQ(workers.worker_of(first), moved.worker);
  EXPECT_TRUE(workers.news().failures.empty());
}

TEST(remote_stage, asks_elsewhere_when_the_place_where_it_waits_is_lost) {
  fake_workers workers(1);
  workers.host().close();
  workers.next_live_on(fake_workers::place::second);
  workers.ends(workers.all()[0], exit_kind::lost, 0);  // the pool starts another one, and is refused
  ASSERT_FALSE(workers.second_host().members.empty());
  workers.says_hello(workers.second_host().members.front());
  EXPECT_EQ(workers.worker_of(first), workers.second_host().members.front().worker);
  EXPECT_TRUE(workers.news().failures.empty());
}

TEST(remote_stage, fails_with_the_loss_of_its_node_where_no_other_can_take_it) {
  fake_workers workers(1);
  workers.says_hello(workers.all()[0]);
  workers.next_live_on(fake_workers::place::none);
  workers.is_shot(workers.all()[0]);
  ASSERT_EQ(workers.news().failures.size(), 1U);
  EXPECT_EQ(workers.news().failures.front().cause.code, error_code::node_lost);
}

}  // namespace
}  // namespace troupe::testing
