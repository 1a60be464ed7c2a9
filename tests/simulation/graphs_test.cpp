// Goal: graphs are drawn of all sorts, and what they do wrong is seen. Method: counts over many seeds; bodies that do
// harm and stay silent; a chain as large as the product is for.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "runtime/topology/stage_graph.hpp"
#include "testing/simulation/chance.hpp"
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

std::string name_of_harm(const ::testing::TestParamInfo<body_harm>& given) {
  constexpr std::array names = {"none", "loses_a_row", "repeats_a_row", "takes_old_parts", "forgets_an_input"};
  return names.at(static_cast<std::size_t>(given.param));
}

INSTANTIATE_TEST_SUITE_P(each, harm,
                         ::testing::Values(body_harm::loses_a_row, body_harm::repeats_a_row, body_harm::takes_old_parts,
                                           body_harm::forgets_an_input),
                         name_of_harm);

struct census {
  std::uint64_t deaths = 0;
  std::uint64_t replays = 0;
  std::map<std::string, std::uint64_t> endings = {};
};

/// Deaths of stages, and what the loader sent once more.
void count(const history& seen, census& into) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> sent;
  std::uint64_t epoch = 0;
  for (const event& each : seen) {
    if (each.what == happening::worker_ended && each.incarnation > 0) ++into.deaths;
    if (each.what != happening::edge_sent || each.worker != 0) continue;
    const bool is_again = !sent.insert({each.call, each.index}).second;
    if (is_again && each.epoch > epoch) ++into.replays;
    epoch = std::max(epoch, each.epoch);
  }
}

TEST(graphs, that_lose_any_number_of_workers_end_with_the_right_bits_or_a_named_cause) {
  simulator world;
  census found;
  const std::uint64_t seeds = testing::sanitized ? 20 : 100;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    plan what = draw_plan(seed);
    what.faults.clear();
    what.has_journal = false;
    what.calls = {60};
    what.folded_before.clear();
    what.forward_us = 4'000;
    chance random(seed);
    const std::uint64_t only = random.below(3);
    const graph_plan graph = with_graph(what).graph;
    for (std::uint64_t left = 10 + random.below(30); left > 0; --left) {
      fault one{.kind = random.below(8) == 0 ? fault_kind::kill_actor : fault_kind::kill, .index = random.below(2)};
      one.at_us = random.between(50'000, 500'000);
      one.stage = only == 0 ? 0 : static_cast<std::uint32_t>(random.below(graph.nodes.size()));
      one.replica = static_cast<std::uint32_t>(random.below(graph.nodes[one.stage].replicas));
      what.faults.push_back(one);
    }
    const run_report report = world.run(what);
    ASSERT_EQ(report.wrong, "") << describe(what);
    count(world.seen(), found);
    ++found.endings[report.ended];
  }
  EXPECT_GT(found.deaths, 5 * seeds);
  EXPECT_GT(found.replays, seeds) << "the replays that this test is about did not happen";
  EXPECT_GT(found.endings["same bits"], seeds / 10);
  EXPECT_GT(found.endings["E0616"], seeds / 20);
}

TEST(graphs, of_fifty_stages_with_twenty_replicas_keep_what_is_promised) {
  if (testing::sanitized) GTEST_SKIP() << testing::same_code;
  simulator world;
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const plan what = draw_large_plan(seed);
    EXPECT_EQ(world.run(what).wrong, "") << describe(what);
  }
}

}  // namespace
}  // namespace troupe::simulation
