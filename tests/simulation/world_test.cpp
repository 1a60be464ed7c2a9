// Goal: whatever happens to the processes, links, edges and disks of a run, it ends with the bits of an undisturbed
// one, or with an error for which there is a cause. Method: seeds draw runs and faults, the production code of the
// control plane runs in virtual time, and a judge that shares nothing with it reads what was seen.
#include "testing/simulation/world.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace troupe::simulation
