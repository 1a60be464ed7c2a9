#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/fault/fault_table.hpp"
#include <troupe/fault_plan.hpp>
#include <troupe/limits.hpp>

namespace troupe {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

using namespace std::chrono_literals;
using time = std::optional<std::chrono::nanoseconds>;

struct good_case {
  std::string text;
  fault meaning;
};

fault with_times(fault one, time lasts, time delay = {}, time jitter = {}) {
  one.lasts = lasts;
  one.delay = delay;
  one.jitter = jitter;
  return one;
}

fault with_direction(fault one, fault_direction way, time lasts = {}) {
  one.direction = way;
  one.lasts = lasts;
  return one;
}

fault with_bytes(fault one, std::uint64_t bytes) {
  one.bytes = bytes;
  return one;
}

using k = fault_kind;
using t = fault_target;
using w = fault_trigger;
using m = fault_trigger_kind;

const std::vector<good_case> good_cases = {
    {"kill:stage=resnet.2,at=mb17", {k::kill, t::stage("resnet 2"), w::micro_batch(17)}},
    {"kill:stage=net.1,replica=3,at=mb0", {k::kill, t::stage("net.1", 3), w::micro_batch(0)}},
    {"kill:stage=net.1,p=0.25,seed=7", {k::kill, t::stage("net.1"), w::probability_of(0.25, 7)}},
    {"kill:loader,at=mb5", {k::kill, t::loader(), w::micro_batch(5)}},
    {"kill:aggregator,at=0.5s", {k::kill, t::aggregator(), w::time(500ms)}},
    {"kill:driver,at=mb10", {k::kill, t::driver(), w::micro_batch(10)}},
    {"kill:worker=0,at=2s", {k::kill, t::worker(0), w::time(2s)}},
    {"stop:worker=3,at=2.5s,for=4s", with_times({k::stop, t::worker(3), w::time(2500ms)}, 4s)},
    {"stop:stage=a,at=mb3", {k::stop, t::stage("a"), w::micro_batch(3)}},
    {"exit:stage=a,at=mb3", {k::exit, t::stage("a"), w::micro_batch(3)}},
    {"exit:worker=2,p=1", {k::exit, t::worker(2), w::probability_of(1)}},
    {"throw:stage=2,at=mb9", {k::throw_error, t::stage("2"), w::micro_batch(9)}},
    {"delay:edge=resnet.1-resnet.2,ms=50,jitter=20",
     with_times({k::delay, t::edge("resnet.1", "resnet.2"), w::always()}, {}, 50ms, 20ms)},
    {"delay:edge=a-b->c,at=msg4,ms=0.5", with_times({k::delay, t::edge("a-b", "c"), w::message(4)}, {}, 500us)},
    {"drop:control=driver-resnet.2,p=0.1", {k::drop, t::control("resnet.2"), w::probability_of(0.1)}},
    {"duplicate:control=driver-a-b,at=msg1", {k::duplicate, t::control("a-b"), w::message(1)}},
    {"reorder:control=driver-a,at=1s,for=2s", with_times({k::reorder, t::control("a"), w::time(1s)}, 2s)},
    {"corrupt:edge=loader-net.0,at=msg2", {k::corrupt, t::edge("loader", "net.0"), w::message(2)}},
    {"truncate:edge=a-b,p=0.01", {k::truncate, t::edge("a", "b"), w::probability_of(0.01)}},
    {"partition:control=driver-a,at=0s,for=0.25s", with_times({k::partition, t::control("a"), w::time(0s)}, 250ms)},
    {"half_open:edge=a-b,at=msg9,direction=forward",
     with_direction({k::half_open, t::edge("a", "b"), w::message(9)}, fault_direction::forward)},
    {"half_open:control=driver-a,at=msg9,for=2s,direction=back",
     with_direction({k::half_open, t::control("a"), w::message(9)}, fault_direction::back, 2s)},
    {"close:control=driver-a,at=2s", {k::close, t::control("a"), w::time(2s)}},
    {"close:edge=a-b,p=0.1,direction=back",
     with_direction({k::close, t::edge("a", "b"), w::probability_of(0.1)}, fault_direction::back)},
    {"slow:stage=net.0,ms=5", with_times({k::slow, t::stage("net.0"), w::always()}, {}, 5ms)},
    {"disk_full:journal,at=mb40", {k::disk_full, t::journal(), w::micro_batch(40)}},
    {"disk_full:journal,at=mb40,bytes=12", with_bytes({k::disk_full, t::journal(), w::micro_batch(40)}, 12)},
    {"out_of_memory:stage=a,at=mb1,bytes=1099511627776",
     with_bytes({k::out_of_memory, t::stage("a"), w::micro_batch(1)}, std::uint64_t{1} << 40U)},
    {"kill:stage=a,at=mb2,step=3", {k::kill, t::stage("a"), w::in_step(m::micro_batch, 3, 2)}},
    {"throw:stage=a,at=backward2", {k::throw_error, t::stage("a"), {.kind = m::backward, .number = 2}}},
    {"kill:stage=a,replica=1,at=backward0,step=1", {k::kill, t::stage("a", 1), w::in_step(m::backward, 1)}},
    {"exit:worker=1,at=vote", {k::exit, t::worker(1), {.kind = m::vote}}},
    {"stop:worker=1,at=decision,step=5,for=2s", with_times({k::stop, t::worker(1), w::in_step(m::decision, 5)}, 2s)},
    {"kill:driver,at=decision,step=4", {k::kill, t::driver(), w::in_step(m::decision, 4)}},
    {"kill:stage=a,at=apply,step=0", {k::kill, t::stage("a"), w::in_step(m::apply, 0)}},
    {"kill:stage=a,at=recovery", {k::kill, t::stage("a"), {.kind = m::recovery}}},
};

TEST(fault_text, round_trip) {
  for (const good_case& each : good_cases) {
    const auto read = parse_fault(each.text);
    ASSERT_TRUE(read) << each.text << ": " << to_string(read.error());
    EXPECT_EQ(*read, each.meaning) << each.text;
    EXPECT_EQ(to_string(each.meaning), each.text);
    EXPECT_FALSE(objection_to(each.meaning)) << each.text;
  }
}

TEST(fault_text, every_kind_has_a_good_case) {
  for (const fault_row& row : all_fault_rows()) {
    EXPECT_TRUE(std::any_of(good_cases.begin(), good_cases.end(), [&](const good_case& each) {
      return each.meaning.kind == row.kind;
    })) << row.name;
  }
}

TEST(fault_text, other_spellings_of_times) {
  EXPECT_EQ(parse_fault("stop:worker=3,for=4000ms,at=2500ms")->lasts, 4s);
  EXPECT_EQ(to_string(*parse_fault("stop:worker=3,for=4,at=2.50")), "stop:worker=3,at=2.5s,for=4s");
}

struct bad_case {
  std::string text;
  std::size_t column;
  std::string cause;
  std::string fix = {};
};

const std::vector<bad_case> bad_cases = {
    {"", 1, "there is no kind of fault \"\""},
    {"kil:stage=a,at=mb1", 1, "there is no kind of fault \"kil\"", "kill"},
    {"KILL:stage=a,at=mb1", 1, "there is no kind"},
    {"kill", 1, "nothing says what it hits"},
    {"kill:", 6, "a fault has no \"\""},
    {"kill:at=mb1", 1, "nothing says what it hits", "stage="},
    {"kill:stage=a", 1, "kill needs a moment", "at=mb17"},
    {"kill:stage=,at=mb1", 12, "stage: \"\", expected a name"},
    {"kill:stage=a,at=", 17, "at: \"\", expected mb17"},
    {"kill:stage=a,at=mb", 17, "at: \"mb\""},
    {"kill:stage=a,at=mb-1", 17, "at: \"mb-1\""},
    {"kill:stage=a,at=mb1x", 17, "at: \"mb1x\""},
    {"kill:stage=a,at=msg1", 14, "kill of a stage cannot have this trigger", "at=mb17"},
    {"kill:stage=a,at=noon", 17, "at: \"noon\", expected mb17, msg3 or seconds"},
    {"kill:stage=a,at=nan", 17, "at: \"nan\""},
    {"kill:stage=a,at=-1s", 17, "at: \"-1s\""},
    {"kill:stage=a,at=1e300s", 17, "at: \"1e300s\""},
    {"kill:stage=a,p=0", 14, "a probability is above 0 and at most 1"},
    {"kill:stage=a,p=1.5", 14, "a probability is above 0 and at most 1"},
    {"kill:stage=a,p=often", 16, "p: \"often\""},
    {"kill:stage=a,at=mb1,p=0.1", 21, "at and p exclude each other"},
    {"kill:stage=a,at=mb1,at=mb2", 21, "at is given twice"},
    {"kill:stage=a,at=mb1,seed=3", 21, "a seed is for p="},
    {"kill:stage=a,p=1,seed=x", 23, "seed: \"x\""},
    {"kill:stage=a,worker=1,at=mb1", 14, "stage and worker: a fault hits one thing"},
    {"kill:stage=a,replica=x,at=mb1", 22, "replica: \"x\""},
    {"kill:worker=1,replica=0,at=mb1", 15, "a worker has no replicas"},
    {"kill:worker=first,at=mb1", 13, "worker: \"first\", expected a rank"},
    {"kill:worker=-1,at=mb1", 13, "worker: \"-1\""},
    {"kill:worker=4294967296,at=mb1", 13, "worker: \"4294967296\""},
    {"kill:edge=a-b,at=mb1", 6, "there is no kill of an edge", "kill is for: stage, loader"},
    {"kill:node=,at=mb1", 11, "node: \"\", expected a name"},
    {"kill:node=n1", 1, "kill needs a moment", "give kill one of: at=mb17, at=2.5s"},
    {"kill:agent=n1,p=0.5", 15, "kill of an agent cannot have this trigger", "at=mb17, at=2.5s"},
    {"kill:agent=n1,replica=1,at=mb1", 15, "an agent has no replicas"},
    {"exit:agent=n1,at=mb1", 6, "there is no exit of an agent", "exit is for: stage, worker"},
    {"stop:node=n1,at=mb1", 1, "stop of a node must end, within 600 s", "for=20s"},
    {"partition:node=n1,at=1s,for=601s", 25, "partition of a node must end, within 600 s", "kill"},
    {"partition:edge=a-b,at=mb1", 20, "cannot have this trigger", "give partition one of: at=msg3, at=2.5s, neither"},
    {"partition:worker=1", 11, "there is no partition of a worker", "partition is for: edge, control, agent, node"},
    {"kill:loader=1,at=mb1", 13, "loader has no value"},
    {"kill:loader,p=0.5", 13, "kill of the loader cannot have this trigger"},
    {"kill:stage=a,at=mb1,for=2s", 21, "kill does not take for=", "leave it out"},
    {"kill:stage=a,at=mb1,ms=2", 21, "kill does not take ms="},
    {"kill:stage=a,at=mb1,fro=2s", 21, "a fault has no \"fro\"", "for"},
    {"kill:stage=a,,at=mb1", 14, "a fault has no \"\""},
    {"kill:stage=a,at=mb1,", 21, "a fault has no \"\""},
    {"kill:stage=a:b,at=mb1", 6, "a name with one of , ; : ="},
    {"stop:stage=a,at=mb1,for=long", 25, "for: \"long\", expected seconds"},
    {"exit:stage=a,at=2s", 14, "exit of a stage cannot have this trigger"},
    {"throw:worker=1,at=mb1", 7, "there is no throw of a worker", "throw is for: stage"},
    {"delay:edge=a-b", 1, "delay needs ms=", "add ms=50"},
    {"half_open:edge=a-b", 1, "half_open needs direction=", "add direction=forward"},
    {"half_open:edge=a-b,direction=up", 30, "direction: \"up\", expected forward or back"},
    {"partition:edge=a-b,direction=back", 20, "partition does not take direction="},
    {"close:stage=a,at=mb1", 7, "there is no close of a stage"},
    {"delay:edge=ab,ms=5", 12, "edge: \"ab\", expected A-B"},
    {"delay:edge=a-b-c,ms=5", 12, "edge: \"a-b-c\", expected A-B, or A->B"},
    {"delay:edge=-b,ms=5", 12, "edge: \"-b\""},
    {"delay:edge=a-b,ms=5ms", 19, "ms: \"5ms\", expected milliseconds"},
    {"delay:edge=a-b,ms=5,bytes=1", 21, "delay does not take bytes="},
    {"delay:stage=a,ms=5", 7, "there is no delay of a stage"},
    {"drop:control=a,p=0.1", 14, "control: \"a\", expected driver-STAGE"},
    {"drop:control=driver-,p=0.1", 14, "control: \"driver-\""},
    {"drop:control=driver-a,at=msg0", 23, "messages are counted from 1"},
    {"drop:control=driver-a,at=mb1", 23, "cannot have this trigger"},
    {"corrupt:edge=a-b,bytes=3", 18, "corrupt does not take bytes=", "leave it out"},
    {"truncate:control=driver-a,bytes=3", 27, "truncate does not take bytes=", "leave it out"},
    {"disk_full:journal,bytes=1.5", 25, "bytes: \"1.5\", expected a whole number"},
    {"disk_full:loader,at=mb1", 11, "there is no disk_full of the loader"},
    {"out_of_memory:stage=a,at=1s", 23, "cannot have this trigger"},
    {"kill:kind=exit,stage=a,at=mb1", 6, "kind is given twice"},
    {"kill:stage=a,step=2", 14, "kill needs a moment"},
    {"kill:stage=a,at=1s,step=3", 14, "is in no step", "leave step= out"},
    {"kill:stage=a,p=0.5,step=3", 14, "is in no step"},
    {"kill:driver,at=mb2,step=3", 13, "is in no step"},
    {"kill:stage=a,at=mb1,step=x", 26, "step: \"x\", expected the number of a step"},
    {"kill:stage=a,at=backward", 17, "at: \"backward\", expected mb17"},
    {"exit:stage=a,at=apply", 14, "cannot have this trigger", "at=decision, at=recovery"},
    {"throw:stage=a,at=decision", 15, "cannot have this trigger", "at=backward17"},
    {"kill:driver,at=apply", 13, "cannot have this trigger", "at=vote, at=decision"},
    {"kill:node=n1,at=vote", 14, "cannot have this trigger"},
};

TEST(fault_text, bad_texts_are_refused_at_their_column) {
  for (const bad_case& each : bad_cases) {
    const auto read = parse_fault(each.text);
    ASSERT_FALSE(read) << each.text;
    const error& e = read.error();
    EXPECT_EQ(e.code, error_code::fault_invalid) << each.text;
    EXPECT_THAT(e.where, EndsWith("column " + std::to_string(each.column))) << each.text << ": " << e.cause;
    EXPECT_THAT(e.cause, HasSubstr(each.cause)) << each.text;
    EXPECT_THAT(e.fix, HasSubstr(each.fix)) << each.text;
    EXPECT_THAT(e.fix, Not(::testing::IsEmpty())) << each.text;
  }
}

TEST(fault_plan, mistakes_are_reported_by_check) {
  fault_plan plan;
  plan.add("kill:loader,at=mb1").add("kill:loader").add("kil");
  ASSERT_FALSE(plan.check());
  EXPECT_THAT(plan.check().error().where, HasSubstr("\"kill:loader\""));

  fault impossible{k::kill, t::edge("a", "b"), w::micro_batch(1)};
  EXPECT_THAT(to_string(fault_plan{}.add(impossible).check().error()), HasSubstr("there is no kill of an edge"));
  EXPECT_TRUE(fault_plan{}.add(good_cases[0].meaning).check());
}

TEST(fault_plan, is_limited) {
  fault_plan plan;
  for (std::size_t i = 0; i < limits::faults_max; ++i) plan.add("kill:loader,at=mb1");
  EXPECT_TRUE(plan.check());
  EXPECT_FALSE(plan.add("kill:loader,at=mb1").check());
}

}  // namespace
}  // namespace troupe
