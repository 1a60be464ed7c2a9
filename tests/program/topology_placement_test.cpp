// Goal: a topology says which nodes of a launch its stages want, by replica or by stage, and a wish that cannot be is
// an error before the start. Method: what a run would read of topologies that are built and not run.
#include <gmock/gmock.h>

#include "program/launch/process_context.hpp"
#include "program/topology/checked_run.hpp"
#include "tests/program/support/numbers.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/topology.hpp>

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

at::Tensor doubled(const at::Tensor& x) {
  return at::mul(x, 2);
}

error error_of_placed(const topology& what) {
  const auto result = run(what, {.micro_batch = 3, .threads = 1});
  EXPECT_FALSE(result);
  return result ? error{} : result.error();
}

topology placed_graph(const stage_options& head, const cut_options& net) {
  return topology{}
      .source("numbers", numbers(10))
      .stage("head", doubled, head)
      .pipeline("net", std::vector<layer_spec>(3, layer_spec::function("Twice", doubled)), net)
      .sink("sum", {});
}

TEST(topology_placement, is_by_replica_for_a_stage_and_by_stage_for_a_pipeline) {
  const topology graph =
      placed_graph({.replicas = 2, .placement = {"w1", "w0"}}, {.stages = 2, .replicas = 2, .placement = {"w0", "w2"}});
  ASSERT_TRUE(graph.check()) << to_string(graph.check().error());
  const process_context process;
  const auto run = *checked_run::make(graph, {}, process);
  const wiring_plan& plan = run.plan;
  const auto wanted = run.wanted_nodes();
  std::map<std::string, std::vector<std::string>> by_stage;
  for (const wired_instance& each : plan.instances)
    by_stage[plan.nodes[each.address.stage].name].push_back(wanted(each.address));
  EXPECT_THAT(by_stage["head"], ElementsAre("w1", "w0"));
  EXPECT_THAT(by_stage["net 0"], ElementsAre("w0", "w0"));
  EXPECT_THAT(by_stage["net 1"], ElementsAre("w2", "w2"));
  EXPECT_THAT(by_stage["numbers"], ElementsAre(""));
  EXPECT_THAT(graph.picture(), HasSubstr("place   head on w1, w0\nplace   net 0 on w0\nplace   net 1 on w2\n"));
}

TEST(topology_placement, of_one_node_is_for_all_replicas_and_stages) {
  const topology graph = placed_graph({.replicas = 3, .placement = {"w1"}}, {.stages = 2, .placement = {"w2"}});
  ASSERT_TRUE(graph.check());
  EXPECT_EQ(graph.parts().place_of("head", 2), "w1");
  EXPECT_EQ(graph.parts().place_of("net 1", 0), "w2");
}

TEST(topology_placement, of_another_number_of_nodes_is_an_error) {
  EXPECT_THAT(error_of_placed(placed_graph({.replicas = 3, .placement = {"w1", "w2"}}, {})).cause,
              HasSubstr("2 nodes for 3 replicas"));
  EXPECT_THAT(error_of_placed(placed_graph({}, {.stages = 3, .placement = {"w1", "w2"}})).cause,
              HasSubstr("2 nodes for 3 stages"));
}

TEST(topology_placement, without_a_launch_is_an_error_that_says_so) {
  const error why = error_of_placed(placed_graph({.placement = {"w1"}}, {}));
  EXPECT_EQ(why.code, error_code::topology_invalid);
  EXPECT_EQ(why.where, "placement of stage 'head'");
  EXPECT_THAT(why.cause, HasSubstr("there are no nodes"));
}

}  // namespace
}  // namespace troupe::testing
