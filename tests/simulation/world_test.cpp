// Goal: whatever happens to the processes, links, edges and disks of a run, it ends with the bits of an undisturbed
// one, or with an error for which there is a cause. Method: seeds draw runs and faults, the production code of the
// control plane runs in virtual time, and a judge that shares nothing with it reads what was seen.
#include "testing/simulation/world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "messages/codec/message_kind.hpp"
#include "testing/simulation/judge.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::simulation {
namespace {

TEST(simulation_world, every_seed_keeps_what_is_promised) {
  simulator world;
  for (std::uint64_t seed = 0; seed < (troupe::testing::sanitized ? 100u : 1000u); ++seed) {
    const plan what = draw_plan(seed);
    const run_report report = world.run(what);
    ASSERT_EQ(report.wrong, "") << describe(what) << "troupe simulate --seeds " << seed << ".." << seed;
  }
}

TEST(simulation_world, equal_plans_give_equal_traces_in_any_simulator_and_others_differ) {
  simulator first;
  simulator second;
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 100; seed < 150; ++seed) {
    const run_report one = first.run(draw_plan(seed));
    EXPECT_EQ(one.trace_hash, second.run(draw_plan(seed)).trace_hash) << "seed " << seed;
    hashes.insert(one.trace_hash);
  }
  EXPECT_EQ(hashes.size(), 50u);
}

std::int64_t events_of(const simulator& world, happening what, std::uint64_t value) {
  return std::ranges::count_if(world.seen(), [&](const event& e) { return e.what == what && e.value == value; });
}

std::int64_t count_of(const simulator& world, happening what) {
  return std::ranges::count(world.seen(), what, &event::what);
}

TEST(simulation_world, workers_are_handed_the_memory_of_their_edges) {
  simulator world;
  plan what{.seed = 12, .stages = 2, .replicas = 2, .calls = {20}, .forward_us = 10'000};
  what.faults = {{.kind = fault_kind::kill, .at_us = 120'000}};
  what.hands_over_edges = true;
  EXPECT_EQ(world.run(what).wrong, "");
  EXPECT_EQ(count_of(world, happening::became_stage), 5) << "no worker died";
  const std::int64_t of_pages = 2 * count_of(world, happening::became_stage);
  EXPECT_EQ(count_of(world, happening::order_taken) - of_pages, 6 + 3 + 6) << "of all, of those who live, of all";
}

/// Two calls, of which the first is in the middle.
TEST(runs_that_are_stopped, call_partial_what_is_not_complete) {
  simulator world;
  for (const way_to_stop how : {way_to_stop::drain, way_to_stop::now, way_to_stop::deadline, way_to_stop::abort}) {
    SCOPED_TRACE(static_cast<int>(how));
    const fault stops{.kind = fault_kind::stop_run, .at_us = 150'000, .index = static_cast<std::uint64_t>(how)};
    const run_report report = world.run(
        {.seed = 12, .stages = 2, .slots_from_loader = 2, .calls = {200, 4}, .forward_us = 2'000, .faults = {stops}});
    EXPECT_EQ(report.wrong, "");
    EXPECT_EQ(report.ended, how == way_to_stop::drain ? "partial" : how == way_to_stop::deadline ? "E0605" : "E0606");
    EXPECT_EQ(events_of(world, happening::labelled, 1), 2);
    const auto first = std::ranges::find(world.seen(), happening::answered, &event::what);
    EXPECT_GT(first->other, 0u) << "it was not in the middle";
    EXPECT_EQ(first->value == 0, how == way_to_stop::drain);
  }
}

/// Of a run that fails the answers count what was folded, too.
TEST(runs_that_are_stopped, count_what_was_folded_before_they_failed) {
  simulator world;
  std::vector<fault> deaths;
  for (std::uint64_t index = 8; index < 200; index += 8)
    deaths.push_back({.kind = fault_kind::kill_in_forward, .index = index});
  const run_report report = world.run({.seed = 12, .calls = {200}, .forward_us = 2'000, .faults = deaths});
  EXPECT_EQ(report.wrong, "");
  EXPECT_EQ(report.ended, "E0616");
  EXPECT_GT(std::ranges::find(world.seen(), happening::answered, &event::what)->other, 10u);
}

plan dying(std::vector<fault> faults) {
  return {.seed = 5, .calls = {200, 8}, .forward_us = 2'000, .faults = std::move(faults)};
}

fault dies_at(std::uint64_t index) {
  return {.kind = fault_kind::kill_in_forward, .index = index};
}

/// Whatever ends them: no history tells a micro-batch that kills from one that was in hand each time.
TEST(named_micro_batches, are_those_that_three_workers_in_a_row_had_in_hand) {
  simulator world;
  const run_report report = world.run(dying({dies_at(7), dies_at(7), dies_at(7)}));
  EXPECT_EQ(report.wrong, "");
  EXPECT_EQ(report.ended, "E0616");
  const auto named = std::ranges::find(world.seen(), happening::named, &event::what);
  ASSERT_NE(named, world.seen().end());
  EXPECT_EQ(named->index, 7u);
  EXPECT_EQ(std::ranges::count(world.seen(), happening::named, &event::what), 1) << "the other call ends well";
}

/// Each time after some progress, so that no micro-batch has a part in it.
TEST(named_micro_batches, are_none_where_a_stage_dies_too_often) {
  simulator world;
  std::vector<fault> deaths;
  for (std::uint64_t index = 8; index < 200; index += 8) deaths.push_back(dies_at(index));
  const run_report report = world.run(dying(deaths));
  EXPECT_EQ(report.wrong, "");
  EXPECT_EQ(report.ended, "E0616");
  EXPECT_EQ(std::ranges::count(world.seen(), happening::named, &event::what), 0);
  EXPECT_EQ(std::ranges::count(world.seen(), happening::blamed, &event::what), 2) << "both calls end with the run";
}

/// Two stages, of which one throws, and edges that can be lost, so that every message is said.
plan talkative(const std::vector<fault>& faults) {
  plan made{.seed = 3,
            .stages = 2,
            .slots_from_loader = 4,
            .slots_between = 4,
            .calls = {20, 5},
            .loses_edges = true,
            .forward_us = 5'000};
  made.faults = faults;
  return made;
}

/// None of them waits for a time-out.
TEST(control_messages, that_are_lost_cost_seconds) {
  simulator world;
  const fault throws{.kind = fault_kind::throw_in_forward, .stage = 1, .call = 1, .index = 3};
  const fault breaks{.kind = fault_kind::lose_edge, .at_us = 100'000};
  const run_report undisturbed = world.run(talkative({throws, breaks}));
  ASSERT_EQ(undisturbed.wrong, "");
  for (const message_kind lost :
       {message_kind::worker_assignment, message_kind::stage_ready, message_kind::open_call, message_kind::call_opened,
        message_kind::wiring_order, message_kind::score_batch, message_kind::release_call, message_kind::cancel_call,
        message_kind::failure, message_kind::edge_lost, message_kind::stopped}) {
    for (const std::uint32_t stage : {0u, 1u}) {
      const bool is_last_ones = lost == message_kind::score_batch || lost == message_kind::failure;
      if (is_last_ones && stage == 0) continue;
      SCOPED_TRACE(std::string(name_of(lost)) + " of stage " + std::to_string(stage));
      const fault drops{.kind = fault_kind::lose_message, .stage = stage, .index = static_cast<std::uint64_t>(lost)};
      const run_report report = world.run(talkative({throws, breaks, drops}));
      EXPECT_EQ(report.wrong, "");
      EXPECT_NE(report.trace_hash, undisturbed.trace_hash) << "nothing was lost";
      EXPECT_LT(report.seconds, undisturbed.seconds + 3);
    }
  }
}

}  // namespace
}  // namespace troupe::simulation
