// Goal: on any graph the production actors and engines bring every part of every micro-batch to every sink once, in
// order and with the right samples. Method: seeded schedules over random graphs, judged by a plain evaluation that
// works from the sinks backwards; faults planted in bodies, and mutants, must be found; equal seeds give equal runs.
#include <cstdlib>
#include <random>

#include <gmock/gmock.h>

#include "runtime/topology/stage_graph.hpp"
#include "support/graph_case.hpp"
#include "support/random_graph.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

/// TROUPE_GRAPHS=100000 searches for longer than a test may.
const std::uint64_t graphs = [] {
  const char* asked = std::getenv("TROUPE_GRAPHS");
  return asked == nullptr ? (sanitized ? 125 : 1000) : std::stoull(asked);
}();

bool any_node(const stage_graph& graph, bool (*is_so)(const graph_node&)) {
  return std::ranges::any_of(graph.nodes(), is_so);
}

TEST(random_graphs, are_valid_and_of_all_sorts) {
  std::map<std::string, std::uint64_t> found;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const stage_graph graph = random_graph(seed);
    const auto valid = validate(graph);
    ASSERT_TRUE(valid) << "seed " << seed << ": " << to_string(valid.error()) << '\n' << describe(graph);
    const stage_graph tree = random_tree(seed);
    ASSERT_TRUE(validate(tree)) << "seed " << seed << '\n' << describe(tree);
    ASSERT_FALSE(any_node(tree, [](const graph_node& n) { return n.keeps_order(); }));
    found["join"] += any_node(graph, [](const graph_node& n) { return n.kind == node_kind::join; });
    found["route"] += any_node(graph, [](const graph_node& n) { return n.kind == node_kind::route; });
    found["group"] += any_node(graph, [](const graph_node& n) { return !n.pipeline_group.empty(); });
    found["many inputs"] +=
        any_node(graph, [](const graph_node& n) { return n.kind == node_kind::stage && n.inputs.size() > 1; });
    found["ordered copies"] += any_node(graph, [](const graph_node& n) { return n.keeps_order() && n.replicas > 1; });
    const auto sinks = std::ranges::count(graph.nodes(), node_kind::sink, &graph_node::kind);
    ++found["sinks " + std::to_string(sinks)];
  }
  for (const char* sort : {"join", "route", "group", "many inputs", "ordered copies", "sinks 1", "sinks 2", "sinks 3"})
    EXPECT_GT(found[sort], graphs / 10) << sort;
}

TEST(graph_simulation, every_sink_of_every_graph_gets_every_part_once_and_in_order) {
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const graph_case given = random_case(seed, random_graph(seed));
    ASSERT_EQ(fault_in(given, simulate(given)), "") << describe(given);
  }
}

TEST(graph_simulation, a_call_that_fails_or_is_given_up_leaves_the_others_right) {
  std::uint64_t cancelled = 0;
  std::uint64_t completed = 0;
  for (std::uint64_t seed = 100000; seed < 100000 + graphs; ++seed) {
    graph_case given = random_case(seed, random_graph(seed));
    add_failures(given, seed);
    std::mt19937_64 random{seed};
    if (random() % 3 == 0) given.cancels[1 + random() % 1500] = random() % given.calls.size();
    const graph_report report = simulate(given);
    ASSERT_EQ(fault_in(given, report), "") << describe(given);
    for (const call_outcome& each : report.outcomes) ++(each.tally.cancelled ? cancelled : completed);
  }
  EXPECT_GT(cancelled, graphs / 4);
  EXPECT_GT(completed, graphs / 4);
}

TEST(graph_simulation, deaths_change_nothing) {
  std::uint64_t deaths = 0;
  std::uint64_t replayed = 0;
  for (std::uint64_t seed = 0; seed < graphs / 4; ++seed) {
    graph_case given = random_case(seed, random_graph(seed));
    given.deaths_per_10000 = 50;
    given.deaths_max = limits::deaths_without_progress_max - 1;
    given.actor_deaths_per_10000 = 20;
    given.actor_deaths_max = 2;
    add_failures(given, seed);
    const graph_report report = simulate(given);
    ASSERT_EQ(fault_in(given, report), "") << describe(given);
    replayed += report.replayed;
    deaths += report.deaths;
  }
  EXPECT_GT(deaths, graphs / 4);
  EXPECT_GT(replayed, graphs / 4) << "the replays that this test is about did not happen";
}

TEST(graph_simulation, equal_seeds_give_equal_runs_and_others_differ) {
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    graph_case given = random_case(5, random_graph(5));  // the same graph, other schedules
    given.calls = {8, 4};
    given.starts.clear();
    given.seed = seed;
    const graph_report first = simulate(given);
    const graph_report second = simulate(given);
    EXPECT_EQ(first.moves_digest, second.moves_digest) << describe(given);
    EXPECT_EQ(first.moves, second.moves) << describe(given);
    EXPECT_EQ(first.trace, second.trace) << describe(given);
    digests.insert(first.moves_digest);
  }
  EXPECT_GT(digests.size(), 25u);
}

TEST(graph_simulation_mutant, without_deduplication_is_found) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    graph_case given = random_case(seed, random_tree(seed));
    given.calls = {60};
    given.starts.clear();
    given.deaths_per_10000 = 100;
    given.deaths_max = 4;
    given.deduplicate = false;
    if (!fault_in(given, simulate(given)).empty()) ++found;
  }
  EXPECT_GT(found, 50u);
}

TEST(graph_simulation_mutant, without_credits_is_found) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    graph_case given = random_case(seed, random_graph(seed));
    given.calls = {20};
    given.starts.clear();
    given.enforce_credits = false;
    if (!fault_in(given, simulate(given)).empty()) ++found;
  }
  EXPECT_GT(found, 50u);
}

/// What the expectation is worth: a body that does its work wrong is found wherever that can matter.
TEST(graph_simulation_mutant, a_body_that_does_harm_is_found) {
  for (const body_fault fault : {body_fault::loses_a_row, body_fault::repeats_a_row, body_fault::takes_old_tensors,
                                 body_fault::forgets_an_input}) {
    std::uint64_t found = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      graph_case given = random_case(seed, random_graph(seed));
      given.calls = {10};
      given.starts.clear();
      const auto faulty = std::ranges::find_if(given.graph.nodes(), [&](const graph_node& node) {
        const bool is_inner = node.kind != node_kind::source && node.kind != node_kind::sink;
        return is_inner && (fault != body_fault::forgets_an_input || node.inputs.size() > 1);
      });
      if (faulty == given.graph.nodes().end()) continue;
      given.faulty_node = faulty->name;
      given.fault = fault;
      if (!fault_in(given, simulate(given)).empty()) ++found;
    }
    EXPECT_GT(found, 25u) << "fault " << static_cast<int>(fault);
  }
}

}  // namespace
}  // namespace troupe::testing
