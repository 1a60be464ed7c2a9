// Goal: what holds in simulation holds for engines on threads of their own, over the edges of production. Method:
// random graphs with bodies that are busy for random times, judged by a plain evaluation from the sinks backwards;
// every run has a deadline.
#include <gmock/gmock.h>

#include "messages/check.hpp"
#include "program/run/running_topology.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "support/graph_bodies.hpp"
#include "support/graph_case.hpp"
#include "testing/simulation/graph_wiring.hpp"

namespace troupe::testing {
namespace {

constexpr std::uint64_t graphs = 60;
constexpr std::chrono::seconds run_max{20};
constexpr std::chrono::seconds stop_max{10};

graph_case busy_case(std::uint64_t seed) {
  graph_case made = random_case(seed, simulation::stated(simulation::draw_graph(seed)));
  for (std::uint64_t& count : made.calls) count *= 5;
  made.work = 1 + mix(seed, 1) % 20000;
  return made;
}

assembly engines_of(const graph_case& given) {
  auto plan = expand(given.graph);
  TROUPE_CHECK(plan, "the graphs of tests are valid");
  const wiring_plan wired = *plan;
  const auto make_body = [&](stage_address at) -> expected<std::shared_ptr<stage_body>> {
    return make_graph_body(given, wired.nodes[at.stage]);
  };
  auto made = assemble(std::move(*plan), std::make_shared<inproc_edge_factory>(), make_body, {.depths = given.depths});
  TROUPE_CHECK(made, "bodies of numbers are always there");
  return std::move(*made);
}

call_ticket_ptr ticket_for(const graph_call& call) {
  auto ticket = std::make_shared<call_ticket>();
  ticket->source = call.source;
  ticket->make_scorer = call.make_scorer;
  ticket->folds = call.folds;
  ticket->start = call.start;
  return ticket;
}

/// `deadlock` says that the deadline has passed.
graph_report run_on_threads(const graph_case& given) {
  graph_report report;
  const auto deadline = std::chrono::steady_clock::now() + run_max;
  const auto running = running_topology::start(engines_of(given));
  std::vector<call_ticket_ptr> tickets;
  std::vector<std::future<call_outcome>> outcomes;
  for (const graph_call& call : make_graph_calls(given, report.folds)) {
    tickets.push_back(ticket_for(call));
    outcomes.push_back(running->submit(tickets.back()));
  }
  for (const call_number call : given.cancels) {
    running->cancel(tickets[call], {error_code::interrupted, "test", "given up", {}});
  }
  for (std::future<call_outcome>& each : outcomes) {
    report.deadlock = report.deadlock || each.wait_until(deadline) != std::future_status::ready;
    report.outcomes.push_back(report.deadlock ? call_outcome{} : each.get());
  }
  report.window = running->engines().window;
  report.window_min = running->engines().window_min;
  report.kept_max = running->engines().loader->counters().kept_max;
  const stop_mode mode = report.deadlock ? stop_mode::abort : stop_mode::drain;
  report.deadlock = !running->stop(mode, stop_max) || report.deadlock;
  return report;
}

TEST(graph_threads, every_sink_of_every_graph_gets_every_part_once_and_in_order) {
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    const graph_case given = busy_case(seed);
    ASSERT_EQ(fault_in(given, run_on_threads(given)), "") << describe(given);
  }
}

TEST(graph_threads, a_call_that_fails_or_is_given_up_leaves_the_others_right) {
  for (std::uint64_t seed = 5000; seed < 5000 + graphs; ++seed) {
    graph_case given = busy_case(seed);
    add_failures(given, seed);
    if (seed % 3 == 0) given.cancels.insert(seed % given.calls.size());
    ASSERT_EQ(fault_in(given, run_on_threads(given)), "") << describe(given);
  }
}

TEST(graph_threads, a_body_that_does_harm_is_found) {
  graph_case given = busy_case(3);
  given.calls = {20};
  given.starts.clear();
  given.faulty_node = given.graph.nodes()[1].name;
  given.fault = body_fault::loses_a_row;
  EXPECT_NE(fault_in(given, run_on_threads(given)), "");
}

}  // namespace
}  // namespace troupe::testing
