// Goal: a graph means exactly the engines and edges it should. Method: list all channels by name and compare with lists
// written by hand or by nested loops over replicas.
#include "runtime/topology/wiring_plan.hpp"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

std::string name_of(const wiring_plan& plan, std::size_t instance) {
  const stage_address a = plan.instances[instance].address;
  return fmt::format("{}/{}", plan.nodes[a.stage].name, a.replica);
}

std::vector<std::string> channels_of(const wiring_plan& plan) {
  std::vector<std::string> all;
  for (const wired_channel& c : plan.channels) {
    all.push_back(fmt::format("{} -> {} x{}", name_of(plan, c.producer), name_of(plan, c.consumer), c.slots));
  }
  return all;
}

void expect_consistent(const wiring_plan& plan) {
  std::size_t ends = 0;
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    const wired_instance& instance = plan.instances[i];
    EXPECT_EQ(plan.instance_at(instance.address), i);
    for (const std::size_t c : instance.inbound) EXPECT_EQ(plan.channels[c].consumer, i);
    for (const std::size_t c : instance.outbound) EXPECT_EQ(plan.channels[c].producer, i);
    ends += instance.inbound.size() + instance.outbound.size();
  }
  EXPECT_EQ(ends, 2 * plan.channels.size());
  for (std::uint32_t s = 0; s < plan.sinks.size(); ++s) {
    EXPECT_THAT(plan.nodes[plan.sinks[s].stage].sinks, testing::Contains(s));
  }
}

TEST(expand, two_stages_two_replicas) {
  const auto plan =
      *expand(make_chain({.stages = 2, .replicas = 2, .num_pipe_buffers = 3, .sinks = {"metrics", "top5"}}));
  expect_consistent(plan);
  EXPECT_THAT(channels_of(plan),
              testing::UnorderedElementsAre(fmt::format("loader/0 -> stage 0/0 x{}", limits::prefetch_slots),
                                            fmt::format("loader/0 -> stage 0/1 x{}", limits::prefetch_slots),
                                            "stage 0/0 -> stage 1/0 x3", "stage 0/1 -> stage 1/1 x3"));
  EXPECT_EQ(plan.nodes[0].name, "stage 0");
  EXPECT_EQ(plan.nodes[1].name, "stage 1");
  EXPECT_EQ(plan.nodes[2].name, "loader");
  EXPECT_THAT(plan.nodes[0].sinks, testing::IsEmpty());
  EXPECT_THAT(plan.nodes[1].sinks, testing::ElementsAre(0u, 1u));
  EXPECT_EQ(plan.sinks[1].name, "top5");
  EXPECT_EQ(plan.sinks[1].stage, 1u);
}

TEST(expand, every_small_chain) {
  for (std::uint32_t stages = 1; stages <= 6; ++stages) {
    for (std::uint32_t replicas = 1; replicas <= 4; ++replicas) {
      const auto plan = *expand(make_chain({.stages = stages, .replicas = replicas, .num_pipe_buffers = 200}));
      expect_consistent(plan);
      std::vector<std::string> expected;
      for (std::uint32_t r = 0; r < replicas; ++r) {
        expected.push_back(fmt::format("loader/0 -> stage 0/{} x200", r));
        for (std::uint32_t s = 1; s < stages; ++s) {
          expected.push_back(fmt::format("stage {}/{} -> stage {}/{} x200", s - 1, r, s, r));
        }
      }
      EXPECT_THAT(channels_of(plan), testing::UnorderedElementsAreArray(expected));
      EXPECT_EQ(plan.instances.size(), stages * replicas + 1);
      EXPECT_EQ(plan.nodes.size(), stages + 1);
    }
  }
}

TEST(expand, the_same_whatever_the_order_of_addition) {
  const auto make = [](std::vector<std::string> order) {
    stage_graph g;
    for (const std::string& name : order) {
      graph_node n;
      n.name = name;
      n.kind = name == "loader" ? node_kind::source : name == "metrics" ? node_kind::sink : node_kind::stage;
      g.add(std::move(n));
    }
    return g.connect("b", "metrics").connect("loader", "a").connect("a", "b");
  };
  const auto forward = *expand(make({"loader", "a", "b", "metrics"}));
  const auto backward = *expand(make({"metrics", "b", "a", "loader"}));
  EXPECT_EQ(channels_of(forward), channels_of(backward));
  EXPECT_EQ(forward.nodes[0].name, "a");
  EXPECT_EQ(backward.nodes[0].name, "a");
}

stage_graph uneven(std::uint32_t first, std::uint32_t second) {
  stage_graph g = make_chain({.stages = 1, .replicas = first, .sinks = {}});
  graph_node wide;
  wide.name = "wide";
  wide.replicas = second;
  graph_node sink;
  sink.name = "metrics";
  sink.kind = node_kind::sink;
  return g.add(wide).add(sink).connect("stage 0", "wide").connect("wide", "metrics");
}

TEST(expand, outside_a_pipeline_every_replica_meets_every_replica) {
  const auto plan = *expand(uneven(2, 3));
  expect_consistent(plan);
  EXPECT_EQ(plan.channels.size(), 2u + 2 * 3);
  for (replica_index r = 0; r < 3; ++r) EXPECT_EQ(plan.instances[plan.instance_at({1, r})].inbound.size(), 2u);
}

TEST(expand, refuses_what_validate_refuses_and_too_many_edges) {
  EXPECT_EQ(expand(make_chain({.stages = 2, .replicas = 0})).error().code, error_code::topology_invalid);
  EXPECT_EQ(expand(stage_graph{}).error().code, error_code::topology_invalid);
  stage_graph g = uneven(limits::replicas_max, limits::replicas_max);
  std::string previous = "wide";
  for (int i = 0; i < 4; ++i) {
    graph_node more;
    more.name = fmt::format("more {}", i);
    more.replicas = limits::replicas_max;
    graph_node sink;
    sink.name = fmt::format("sink {}", i);
    sink.kind = node_kind::sink;
    g.add(more).add(sink).connect(previous, more.name).connect(more.name, sink.name);
    previous = more.name;
  }
  EXPECT_TRUE(validate(g).has_value());
  EXPECT_EQ(expand(g).error().code, error_code::topology_invalid);
  EXPECT_TRUE(expand(make_chain({.stages = limits::stages_max, .replicas = limits::replicas_max})).has_value());
}

}  // namespace
}  // namespace troupe
