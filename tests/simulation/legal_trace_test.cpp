// Goal: whatever moves next, the stages of an undisturbed run execute InferenceSchedule. Method: chains that seeds
// draw, without their faults, in virtual time; check_trace() judges the order in which their engines recorded what they
// did.
#include <algorithm>

#include <gtest/gtest.h>

#include "testing/simulation/world.hpp"
#include "testing/trace_checker.hpp"
#include "tests/support/sanitized.hpp"
#include <troupe/limits.hpp>

namespace troupe::simulation {
namespace {

constexpr std::uint64_t seeds_end = testing::sanitized ? 400 : 2000;

/// Even seeds draw chains.
plan undisturbed_chain(std::uint64_t seed) {
  plan what = draw_plan(seed);
  what.faults.clear();
  what.folded_before.clear();
  return what;
}

std::vector<std::uint32_t> pipe_buffers_of(const plan& what) {
  if (what.pipe_buffers != 0) return {what.pipe_buffers};
  std::vector<std::uint32_t> found(what.stages, std::max(limits::pipe_buffers_default, what.slots_between));
  found.front() = limits::pipe_buffers_default;  // its other neighbour is the loader
  return found;
}

TEST(undisturbed_chains, leave_a_legal_trace) {
  simulator world;
  for (std::uint64_t seed = 0; seed < seeds_end; seed += 2) {
    const plan what = undisturbed_chain(seed);
    ASSERT_EQ(world.run(what).wrong, "") << describe(what);
    const traced_run run{.stages = what.stages,
                         .replicas = what.replicas,
                         .num_pipe_buffers = pipe_buffers_of(what),
                         .micro_batches = what.calls};
    const auto legal = check_trace(run, world.trace());
    ASSERT_TRUE(legal) << describe(what) << ": " << to_string(legal.error());
  }
}

}  // namespace
}  // namespace troupe::simulation
