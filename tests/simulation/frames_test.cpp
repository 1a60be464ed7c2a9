// Goal: frames of an edge that come twice, behind the next one, or late leave the bits as they are. Method: one such
// fault in a run, which the history must show; and the protection without which it would matter is switched off.
#include <algorithm>
#include <map>
#include <tuple>

#include <gmock/gmock.h>

#include "testing/simulation/world.hpp"

namespace troupe::simulation {
namespace {

/// At a moment at which all three stages work.
plan disturbed_by(fault_kind kind) {
  return {.seed = 21,
          .stages = 3,
          .slots_from_loader = 3,
          .slots_between = 3,
          .calls = {80, 3},
          .forward_us = 2'000,
          .faults = {{.kind = kind, .at_us = 200'000, .for_us = 3'000'000}}};
}

struct arrivals {
  std::size_t again = 0;
  std::size_t behind = 0;
};

arrivals arrivals_in(const history& seen) {
  arrivals found;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> last;
  for (const event& each : seen) {
    if (each.what != happening::edge_taken) continue;
    const std::pair now{each.call, each.index};
    const auto [place, is_first] = last.try_emplace(each.value, now);
    if (is_first) continue;
    if (now == place->second) ++found.again;
    if (now < place->second) ++found.behind;
    place->second = std::max(place->second, now);
  }
  return found;
}

TEST(frames, that_come_twice_leave_the_bits) {
  simulator world;
  plan what = disturbed_by(fault_kind::double_frame);
  const run_report report = world.run(what);
  EXPECT_EQ(report.wrong, "");
  EXPECT_EQ(report.ended, "same bits");
  EXPECT_GE(arrivals_in(world.seen()).again, 1u);
  what.broken = mutant::deduplication;
  EXPECT_THAT(world.run(what).wrong, ::testing::StartsWith("exactly-once"));
}

TEST(frames, that_come_behind_the_next_one_leave_the_bits) {
  simulator world;
  const run_report report = world.run(disturbed_by(fault_kind::reorder_frame));
  EXPECT_EQ(report.wrong, "");
  EXPECT_EQ(report.ended, "same bits");
  EXPECT_GE(arrivals_in(world.seen()).behind, 1u);
}

TEST(frames, that_are_late_leave_the_bits) {
  simulator world;
  plan what = disturbed_by(fault_kind::delay_frame);
  const run_report late = world.run(what);
  EXPECT_EQ(late.wrong, "");
  EXPECT_EQ(late.ended, "same bits");
  what.faults.clear();
  const run_report undisturbed = world.run(what);
  EXPECT_GT(late.seconds, undisturbed.seconds + 2);
}

}  // namespace
}  // namespace troupe::simulation
