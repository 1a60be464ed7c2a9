// Goal: two descriptions of one run have the same fingerprint, and any two others have not. Method: one change at a
// time.
#include "runtime/topology/plan_fingerprint.hpp"

#include <set>

#include <gtest/gtest.h>

namespace troupe {
namespace {

wiring_plan chain(std::uint32_t stages, std::uint32_t replicas, std::uint32_t buffers) {
  return *expand(make_chain({.stages = stages, .replicas = replicas, .num_pipe_buffers = buffers}));
}

TEST(plan_fingerprint, is_the_same_for_the_same) {
  EXPECT_EQ(plan_fingerprint(chain(3, 2, 2), "lenet.pt 5"), plan_fingerprint(chain(3, 2, 2), "lenet.pt 5"));
}

TEST(plan_fingerprint, differs_in_everything) {
  std::set<std::uint64_t> found;
  std::size_t made = 0;
  const auto add = [&](const wiring_plan& plan, std::string_view settings = "") {
    found.insert(plan_fingerprint(plan, settings));
    ++made;
  };
  for (std::uint32_t stages = 1; stages < 5; ++stages) {
    for (std::uint32_t replicas = 1; replicas < 4; ++replicas) {
      for (std::uint32_t buffers = 1; buffers < 4; ++buffers) add(chain(stages, replicas, buffers));
    }
  }
  wiring_plan plan = chain(2, 1, 2);
  add(plan, "a");
  add(plan, "b");
  add(plan, "ab");
  plan.nodes[0].name += "x";
  add(plan);
  plan.nodes[0].names_pipe_buffers = false;
  add(plan);
  plan.nodes[0].keeps_order = true;
  add(plan);
  plan.nodes[0].fixed_replica = true;
  add(plan);
  plan.nodes[1].sinks.push_back(1);
  add(plan);
  plan.channels[0].output_port = 1;
  add(plan);
  plan.sinks[0].name = "other";
  add(plan);
  EXPECT_EQ(found.size(), made);
}

}  // namespace
}  // namespace troupe
