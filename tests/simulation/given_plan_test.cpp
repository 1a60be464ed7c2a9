// Goal: a fault_plan means in virtual time what it means in a run: the same stage, replica, edge and moment; what
// virtual time does not have is refused. Method: plans as --fault spells them, on a graph with replicas and a route.
#include "testing/simulation/given_plan.hpp"

#include <memory>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/simulation/graph_wiring.hpp"
#include <troupe/simulation.hpp>

namespace troupe::simulation {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

plan line_of_three() {
  plan made{.graph = make_line(3, 2, 0), .calls = {20}};
  made.has_journal = true;
  return made;
}

fault only(const char* text) {
  const auto made = in_virtual_time(fault_plan{}.add(text), line_of_three());
  EXPECT_TRUE(made) << to_string(made.error());
  return made ? made->at(0) : fault{};
}

std::string refusal_of(const char* text, plan of = line_of_three()) {
  const auto made = in_virtual_time(fault_plan{}.add(text), of);
  return made ? "taken" : to_string(made.error());
}

TEST(given_plan, names_stage_replica_and_moment) {
  const fault killed = only("kill:stage=2,replica=1,at=0.25s");
  EXPECT_EQ(killed.kind, fault_kind::kill);
  EXPECT_EQ(killed.stage, 2u);
  EXPECT_EQ(killed.replica, 1u);
  EXPECT_EQ(killed.at_us, 250'000);
  const fault frozen = only("stop:stage=n1,at=1s,for=2s");
  EXPECT_EQ(frozen.kind, fault_kind::freeze);
  EXPECT_EQ(frozen.stage, 1u);
  EXPECT_EQ(frozen.for_us, 2'000'000);
  const fault in_forward = only("kill:stage=1,at=mb7");
  EXPECT_EQ(in_forward.kind, fault_kind::kill_in_forward);
  EXPECT_EQ(in_forward.index, 7u);
  const auto of_both = in_virtual_time(fault_plan{}.add("drop:control=driver-n0,p=0.25"), line_of_three());
  ASSERT_TRUE(of_both);
  ASSERT_THAT(*of_both, SizeIs(2)) << "one for each replica";
  EXPECT_EQ(of_both->at(1).replica, 1u);
  const fault lossy = of_both->at(0);
  EXPECT_EQ(lossy.kind, fault_kind::lose_messages);
  EXPECT_EQ(lossy.index, 25u);
}

TEST(given_plan, names_the_actor_that_dies_as_it_was_spelled) {
  for (const char* text : {"kill:loader,at=2.5ms", "kill:aggregator,at=2.5ms"}) EXPECT_EQ(describe(only(text)), text);
}

TEST(given_plan, names_edges) {
  const wiring_plan wiring = wiring_of(line_of_three().graph);
  const fault lost = only("close:edge=n0->n1,at=0.01s");
  EXPECT_EQ(lost.kind, fault_kind::lose_edge);
  ASSERT_THAT(lost.channels, SizeIs(2)) << "one for each replica";
  for (const std::size_t each : lost.channels) {
    EXPECT_EQ(wiring.instances[wiring.channels[each].producer].address.stage, 0u);
    EXPECT_EQ(wiring.instances[wiring.channels[each].consumer].address.stage, 1u);
  }
}

TEST(given_plan, says_how_late_a_frame_is) {
  const fault late = only("delay:edge=n0->n1,ms=70,at=0.01s");
  EXPECT_EQ(late.kind, fault_kind::delay_frame);
  EXPECT_EQ(late.for_us, 70'000);
}

TEST(given_plan, is_refused_where_it_fits_neither_the_run_nor_virtual_time) {
  for (const char* text : {"slow:stage=0,ms=5", "kill:stage=0,p=1", "kill:stage=0,replica=0,at=mb1",
                           "drop:edge=n0->n1,p=0.1", "delay:edge=n0->n1,ms=5,jitter=5,at=1s",
                           "close:control=driver-n0,direction=back,at=1s", "disk_full:journal,bytes=5,at=1s"}) {
    EXPECT_THAT(refusal_of(text), HasSubstr("virtual time has no such fault")) << text;
  }
  EXPECT_THAT(refusal_of("drop:control=driver-n0,p=0.004"), HasSubstr("no chance below a hundredth"));
  EXPECT_THAT(refusal_of("kill:stage=n7,at=1s"), HasSubstr("no stage \"n7\""));
  EXPECT_THAT(refusal_of("kill:stage=n0,replica=2,at=1s"), HasSubstr("2 replicas"));
  EXPECT_THAT(refusal_of("close:edge=n1->n0,at=1s"), HasSubstr("no such edge"));
  EXPECT_THAT(refusal_of("kill:stage=n0,at=mb20"), HasSubstr("20 micro-batches"));
  EXPECT_THAT(refusal_of("kil:stage=n0,at=mb2"), HasSubstr("E0109"));
  plan without = line_of_three();
  without.has_journal = false;
  EXPECT_THAT(refusal_of("disk_full:journal,at=1s", without), HasSubstr("no journal"));
  EXPECT_THAT(refusal_of("kill:driver,at=1s", without), HasSubstr("without a journal"));
}

TEST(given_plan, that_a_run_survives_keeps_its_bits_in_each_order) {
  const auto net = network{}.stage("first", nullptr, {.replicas = 2}).stage("last");
  for (const char* text :
       {"kill:stage=first,replica=1,at=0.2s", "kill:stage=last,at=mb3", "stop:stage=last,at=0.2s",
        "throw:stage=first,at=mb5", "kill:loader,at=0.2s", "kill:aggregator,at=0.2s", "kill:driver,at=0.2s",
        "drop:edge=first-last,at=0.2s", "delay:edge=first-last,ms=700,at=0.2s", "duplicate:edge=first-last,at=0.2s",
        "reorder:edge=loader-first,at=0.2s", "corrupt:edge=loader-first,at=0.2s", "close:edge=first-last,at=0.2s",
        "close:control=driver-last,at=0.2s", "drop:control=driver-last,p=0.1", "duplicate:control=driver-first,p=0.1",
        "reorder:control=driver-last,p=0.1"}) {
    SCOPED_TRACE(text);
    settings how{.micro_batches = {40}, .forward_us = 5000, .journal = true};
    how.plan.add(text);
    std::set<std::uint64_t> traces;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto run = simulate(net, seed, how);
      ASSERT_TRUE(run) << to_string(run.error());
      EXPECT_EQ(run->difference, "");
      EXPECT_EQ(run->ended, "same bits");
      EXPECT_FALSE(run->faults.empty());
      traces.insert(run->trace_hash);
    }
    EXPECT_THAT(traces, SizeIs(5)) << "a seed draws what runs next";
  }
}

TEST(a_network, has_time_and_steps_for_long_calls) {
  const auto net = network{}.stage("first").stage("last");
  for (const settings& how : {settings{.micro_batches = {1000}, .forward_us = settings::forward_us_max},
                              settings{.micro_batches = {settings::micro_batches_max}}}) {
    settings calm = how;
    calm.faults = false;
    EXPECT_EQ(simulate(net, 1, calm)->difference, "");
  }
}

TEST(a_network, is_not_searched_without_seeds) {
  const auto found = find_failure(network{}.stage("only"), 200, 1);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::value_out_of_range);
}

make_forward that_throws_at(std::uint64_t index, int times) {
  return [index, left = std::make_shared<int>(times)]() -> forward {
    return [index, left](micro_batch_id id, std::span<std::uint64_t>) {
      if (id.index == index && (*left)-- > 0) throw std::runtime_error("no such digit");
    };
  };
}

TEST(a_network, names_the_stage_whose_code_throws) {
  const settings calm{.micro_batches = {20}, .faults = false};
  for (const std::uint32_t replicas : {1u, 2u}) {
    const auto net = network{}.stage("first").stage("second", that_throws_at(5, 1000), {.replicas = replicas});
    const auto run = simulate(net, 1, calm);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->ended, "E0602");
    EXPECT_EQ(run->difference,
              "stage-failed: E0602, stage second, call 0, micro-batch 5: its code threw, in a plain loop, too: "
              "no such digit");
  }
  // twice in the run, which is all that it tries, and no more in the loop
  const auto run = simulate(network{}.stage("first").stage("second", that_throws_at(5, 2)), 1, calm);
  EXPECT_EQ(run->difference,
            "stage-failed: E0602, stage second, call 0, micro-batch 5: its code threw, not in a plain loop: "
            "no such digit");
  EXPECT_EQ(simulate(network{}.stage("first", that_throws_at(5, 1)), 1, calm)->difference, "") << "tried once more";
  const auto odd = network{}.stage("first", [] { return [](micro_batch_id, std::span<std::uint64_t>) { throw 7; }; });
  EXPECT_THAT(simulate(odd, 1, calm)->difference, HasSubstr("no std::exception"));
}

TEST(a_network, names_the_route_whose_choice_throws) {
  const auto net =
      network{}
          .route("sure", {"yes", "no"}, [](std::uint64_t) -> std::size_t { throw std::runtime_error("unsure"); })
          .join("both", {"sure.yes", "sure.no"});
  const auto run = simulate(net, 1, {.faults = false});
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_THAT(run->difference, HasSubstr("stage-failed: E0602, stage sure, call 0, micro-batch "));
}

/// What the run would be without the fault: each of these must change it.
TEST(given_plan, happens) {
  const auto net = network{}.stage("first").stage("last");
  const settings undisturbed{.micro_batches = {40}, .forward_us = 5000, .journal = true, .faults = false};
  for (const char* text : {"kill:stage=first,at=0.2s", "stop:stage=last,at=0.2s", "throw:stage=first,at=mb5",
                           "kill:driver,at=0.2s", "drop:edge=first-last,at=0.2s", "close:edge=first-last,at=0.2s"}) {
    settings how = undisturbed;
    how.plan.add(text);
    EXPECT_NE(simulate(net, 1, how)->steps, simulate(net, 1, undisturbed)->steps) << text;
  }
}

}  // namespace
}  // namespace troupe::simulation
