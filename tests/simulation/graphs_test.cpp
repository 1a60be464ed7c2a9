// Goal: graphs are drawn of all sorts, and what they do wrong is seen. Method: counts over many seeds; bodies that do
// harm and say nothing of it; a chain as large as the product is for.
#include <algorithm>
#include <map>
#include <string>

#include <gmock/gmock.h>

#include "runtime/topology/stage_graph.hpp"
#include "testing/simulation/graph_wiring.hpp"
#include "testing/simulation/world.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::simulation {
namespace {

bool any_node(const graph_plan& graph, bool (*is_so)(const node_plan&)) {
  return std::ranges::any_of(graph.nodes, is_so);
}

TEST(graphs, are_valid_and_of_all_sorts) {
  constexpr std::uint64_t graphs = 1000;
  std::map<std::string, std::uint64_t> found;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const graph_plan graph = draw_graph(seed);
    const auto valid = validate(stated(graph));
    ASSERT_TRUE(valid) << "seed " << seed << ": " << to_string(valid.error()) << '\n' << describe(graph);
    found["join"] += any_node(graph, [](const node_plan& n) { return n.sort == node_sort::join; });
    found["route"] += any_node(graph, [](const node_plan& n) { return n.sort == node_sort::route; });
    found["group"] += any_node(graph, [](const node_plan& n) { return n.group != 0; });
    found["many inputs"] +=
        any_node(graph, [](const node_plan& n) { return n.sort == node_sort::stage && n.inputs.size() > 1; });
    found["ordered copies"] += any_node(graph, [](const node_plan& n) { return n.ordered && n.replicas > 1; });
    ++found["sinks " + std::to_string(graph.sinks.size())];
  }
  for (const char* sort : {"join", "route", "group", "many inputs", "ordered copies", "sinks 1", "sinks 2", "sinks 3"})
    EXPECT_GT(found[sort], graphs / 10) << sort;
}

/// What the expectation is worth: such a body is found wherever its harm can matter.
class harm : public ::testing::TestWithParam<body_harm> {};

TEST_P(harm, is_found) {
  simulator world;
  std::map<std::string, std::uint64_t> broken;
  const std::uint64_t seeds = testing::sanitized ? 20 : 100;
  for (std::uint64_t seed = 1; seed < seeds; seed += 2) {
    plan what = draw_plan(seed);
    what.faults.clear();
    what.folded_before.clear();
    what.calls = {10};
    what.harm = GetParam();
    const auto harmed = std::ranges::find_if(what.graph.nodes, [&](const node_plan& node) {
      return what.harm != body_harm::forgets_an_input || node.inputs.size() > 1;
    });
    if (harmed == what.graph.nodes.end()) continue;
    what.harmed_node = static_cast<std::uint32_t>(harmed - what.graph.nodes.begin());
    const std::string wrong = world.run(what).wrong;
    ++broken[wrong.substr(0, wrong.find(':'))];
  }
  EXPECT_GT(broken["same-bits"] + broken["right-parts"], seeds / 4);
}

INSTANTIATE_TEST_SUITE_P(
    each, harm,
    ::testing::Values(body_harm::loses_a_row, body_harm::repeats_a_row, body_harm::takes_old_parts,
                      body_harm::forgets_an_input),
    [](const auto& given) {
      constexpr std::array names = {"none", "loses_a_row", "repeats_a_row", "takes_old_parts", "forgets_an_input"};
      return std::string(names.at(static_cast<std::size_t>(given.param)));
    });

}  // namespace
}  // namespace troupe::simulation
