#include "runtime/fault/fault_shape.hpp"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace troupe {
namespace {

using ::testing::HasSubstr;

fault_shape processes() {
  return {.stages = {{.name = "net 0", .in_process = true}, {.name = "net 1", .replicas = 2, .in_process = true}},
          .edges = {{"loader", "net 0"}, {"net 0", "net 1"}},
          .workers = 4,
          .has_journal = true,
          .micro_batches = 20};
}

fault_shape one_process() {
  fault_shape made = processes();
  for (fault_shape::node& each : made.stages) each.in_process = false;
  made.workers = 0;
  made.has_journal = false;
  return made;
}

std::string misfit_of(const char* text, const fault_shape& shape) {
  const auto fits = check_fits(fault_plan{}.add(text), shape);
  return fits ? "" : to_string(fits.error());
}

TEST(fault_shape, plans_that_fit) {
  for (const char* text : {"kill:stage=net.1,replica=1,at=mb19", "kill:stage=1,at=mb1", "stop:worker=3,at=1s",
                           "kill:driver,at=mb2", "disk_full:journal,at=mb3", "delay:edge=net.0-net.1,ms=1",
                           "delay:edge=loader-0,ms=1", "drop:control=driver-net.1,at=msg1"}) {
    EXPECT_EQ(misfit_of(text, processes()), "") << text;
  }
  for (const char* text : {"throw:stage=net.1,at=mb1", "slow:stage=0,ms=2", "kill:loader,at=mb1"}) {
    EXPECT_EQ(misfit_of(text, one_process()), "") << text;
  }
}

TEST(fault_shape, what_a_run_does_not_have) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"kill:stage=net.2,at=mb1", "no stage \"net 2\""},
      {"kill:stage=2,at=mb1", "no stage \"2\""},
      {"kill:stage=met.1,at=mb1", "net.1"},
      {"kill:stage=net.1,replica=2,at=mb1", "net 1 has 2 replicas"},
      {"kill:stage=net.1,at=mb20", "20 micro-batches"},
      {"stop:worker=4,at=1s", "starts 4 workers"},
      {"delay:edge=net.1-net.0,ms=1", "no such edge"},
      {"drop:control=driver-net.7,at=msg1", "no stage \"net 7\""},
  };
  for (const auto& [text, cause] : cases) EXPECT_THAT(misfit_of(text, processes()), HasSubstr(cause)) << text;
}

TEST(fault_shape, moments_of_steps_are_of_trainings) {
  fault_shape training = processes();
  training.trains = true;
  training.micro_batches = 4;
  training.steps = 6;
  for (const char* text : {"kill:stage=0,at=backward3,step=5", "kill:driver,at=decision", "kill:stage=1,at=recovery",
                           "kill:stage=0,at=mb17", "throw:stage=0,at=mb3,step=0"}) {
    EXPECT_EQ(misfit_of(text, training), "") << text;
    if (std::string(text) != "kill:stage=0,at=mb17")
      EXPECT_THAT(misfit_of(text, processes()), HasSubstr("it trains nothing")) << text;
  }
  EXPECT_THAT(misfit_of("kill:stage=0,at=backward4", training), HasSubstr("a step has 4 micro-batches"));
  EXPECT_THAT(misfit_of("kill:stage=0,at=mb4,step=1", training), HasSubstr("a step has 4 micro-batches"));
  EXPECT_THAT(misfit_of("kill:stage=0,at=vote,step=6", training), HasSubstr("6 steps, counted from 0"));
}

TEST(random_plan, hits_each_phase_of_a_training) {
  fault_shape training = processes();
  training.trains = true;
  training.micro_batches = 4;
  training.steps = 6;
  std::set<fault_trigger_kind> moments;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const fault_plan plan = random_plan(seed, training);
    ASSERT_TRUE(check_fits(plan, training)) << to_string(check_fits(plan, training).error());
    for (const fault& each : plan.faults()) {
      moments.insert(each.when.kind);
      if (each.kind == fault_kind::throw_error) EXPECT_EQ(each.when.kind, fault_trigger_kind::micro_batch);
    }
  }
  for (const auto moment : {fault_trigger_kind::backward, fault_trigger_kind::vote, fault_trigger_kind::decision,
                            fault_trigger_kind::apply, fault_trigger_kind::recovery}) {
    EXPECT_TRUE(moments.contains(moment));
  }
}

TEST(fault_shape, a_misfit_is_told_with_its_place) {
  fault_plan plan;
  plan.add("kill:loader,at=mb1").add("kill:stage=7,at=mb1").written_at({"run.toml:2:1", "run.toml:6:1"});
  EXPECT_EQ(check_fits(plan, processes()).error().where, "run.toml:6:1: fault \"kill:stage=7,at=mb1\"");
  EXPECT_EQ(check_fits(fault_plan{}.add("kill:stage=7,at=mb1"), processes()).error().where,
            "fault \"kill:stage=7,at=mb1\"");
}

TEST(fault_shape, faults_of_processes_need_processes) {
  for (const char* text :
       {"kill:stage=net.1,at=mb1", "stop:stage=0,at=1s", "exit:stage=0,at=mb1", "drop:control=driver-0,at=msg1"}) {
    EXPECT_THAT(misfit_of(text, one_process()), HasSubstr("no process of its own")) << text;
  }
  EXPECT_THAT(misfit_of("kill:worker=0,at=1s", one_process()), HasSubstr("no worker processes"));
  EXPECT_THAT(misfit_of("disk_full:journal,at=mb3", one_process()), HasSubstr("no journal"));
}

/// `troupe train` has no flag --journal.
TEST(fault_shape, a_training_without_a_journal_is_told_its_own_flag) {
  fault_shape training = one_process();
  const fault_plan plan = fault_plan{}.add("disk_full:journal,at=mb3");
  EXPECT_THAT(check_fits(plan, training).error().fix, HasSubstr("--journal"));
  training.trains = true;
  EXPECT_THAT(check_fits(plan, training).error().fix, HasSubstr("--save"));
}

fault_shape over_nodes(bool may_be_lost) {
  fault_shape made = processes();
  made.places = {{.name = "w0", .has_driver = true, .may_be_lost = true}, {.name = "w1", .may_be_lost = may_be_lost}};
  return made;
}

TEST(fault_shape, faults_of_nodes_need_a_launch_and_spare_the_drivers) {
  for (const char* text : {"kill:node=w1,at=mb1", "kill:agent=w1,at=1s", "stop:agent=w1,at=mb1,for=1s",
                           "partition:node=w1,at=1s,for=2s"}) {
    EXPECT_EQ(misfit_of(text, over_nodes(false)), "") << text;
    EXPECT_THAT(misfit_of(text, processes()), HasSubstr("no nodes")) << text;
  }
  EXPECT_THAT(misfit_of("kill:node=w2,at=mb1", over_nodes(true)), HasSubstr("no node \"w2\""));
  EXPECT_THAT(misfit_of("kill:agent=w0,at=mb1", over_nodes(true)), HasSubstr("the driver lives there"));
}

TEST(random_plan, loses_a_node_at_most_once_and_only_one_that_may_be_lost) {
  std::set<std::string> silences;
  std::size_t of_control = 0;
  for (const bool may_be_lost : {false, true}) {
    const fault_shape shape = over_nodes(may_be_lost);
    std::size_t plans_with_a_loss = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      const fault_plan plan = random_plan(seed, shape);
      ASSERT_TRUE(check_fits(plan, shape)) << to_string(check_fits(plan, shape).error());
      std::size_t losses = 0;
      for (const fault& each : plan.faults()) {
        of_control += each.who.kind == fault_target_kind::control ? 1 : 0;
        if (each.who.kind != fault_target_kind::agent && each.who.kind != fault_target_kind::node) continue;
        if (each.kind == fault_kind::kill) ++losses;
        if (each.kind != fault_kind::kill) silences.emplace(fault_name(each.kind));
      }
      EXPECT_LE(losses, may_be_lost ? 1u : 0u);
      plans_with_a_loss += losses;
    }
    EXPECT_EQ(plans_with_a_loss > 0, may_be_lost);
  }
  EXPECT_EQ(silences, (std::set<std::string>{"partition", "stop"}));
  EXPECT_GT(of_control, 0u);
}

TEST(random_plan, is_the_same_for_a_seed_and_fits) {
  std::set<std::string> seen;
  std::set<fault_kind> kinds;
  std::set<fault_kind> of_control;
  for (const fault_shape& shape : {processes(), one_process()}) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      const fault_plan plan = random_plan(seed, shape);
      ASSERT_FALSE(plan.empty());
      ASSERT_LE(plan.faults().size(), 4u);
      ASSERT_TRUE(check_fits(plan, shape)) << to_string(check_fits(plan, shape).error());
      EXPECT_EQ(plan, random_plan(seed, shape));
      for (const fault& each : plan.faults()) {
        (each.who.kind == fault_target_kind::control ? of_control : kinds).insert(each.kind);
        const auto again = parse_fault(to_string(each));
        ASSERT_TRUE(again) << to_string(each);
        EXPECT_EQ(*again, each);
      }
      std::string all;
      for (const std::string& each : plan.texts()) all += each + " ";
      seen.insert(all);
    }
  }
  EXPECT_GT(seen.size(), 800u);
  EXPECT_TRUE(kinds.contains(fault_kind::kill) && kinds.contains(fault_kind::stop) &&
              kinds.contains(fault_kind::throw_error) && kinds.contains(fault_kind::delay));
  EXPECT_FALSE(kinds.contains(fault_kind::disk_full));
  EXPECT_EQ(of_control, (std::set{fault_kind::delay, fault_kind::drop, fault_kind::duplicate, fault_kind::reorder}));
}

}  // namespace
}  // namespace troupe
