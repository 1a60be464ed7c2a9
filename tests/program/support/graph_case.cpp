#include "graph_case.hpp"

#include <algorithm>
#include <random>
#include <sstream>

#include "graph_bodies.hpp"
#include "graph_reference.hpp"
#include "messages/check.hpp"
#include "random_graph.hpp"
#include "runtime/topology/stage_graph.hpp"

namespace troupe::testing {
namespace {

constexpr std::uint64_t call_size_max = 16;

std::string fault_in_sink(const graph_case& given, call_number call, const hash_fold& sink, std::uint64_t first,
                          std::uint64_t digest) {
  std::vector<std::uint64_t> in_order;
  for (std::uint64_t index = first; index < given.calls[call]; ++index) in_order.push_back(index);
  if (sink.folded != in_order) return "not every micro-batch was folded once and in order";
  if (sink.digest != digest) return "wrong numbers";
  return {};
}

std::string fault_in_call(const graph_case& given, const graph_report& report, call_number call) {
  const call_outcome& outcome = report.outcomes[call];
  const bool given_up = std::ranges::any_of(given.cancels, [&](const auto& each) { return each.second == call; });
  const failing fails = failing_of(given, call);
  if (outcome.tally.cancelled) {
    if (!outcome.cause) return "cancelled without a cause";
    return fails.may || given_up ? "" : "cancelled: " + to_string(*outcome.cause);
  }
  if (fails.must) return "a failed forward did not fail the call";
  if (outcome.tally.folded != given.calls[call]) return "folded the wrong number of micro-batches";
  if (outcome.tally.expected != given.calls[call]) return "the loader counted wrong";
  const auto digests = expected_digests(given, call);
  for (std::size_t sink = 0; sink < digests.size(); ++sink) {
    const std::string fault =
        fault_in_sink(given, call, *report.folds[call][sink], first_of(given, call, sink), digests[sink]);
    if (!fault.empty()) return "sink " + std::to_string(sink) + ": " + fault;
  }
  return {};
}

}  // namespace

graph_case random_case(std::uint64_t seed, stage_graph graph) {
  std::mt19937_64 random{seed * 6151 + 29};
  graph_case made;
  made.seed = seed;
  made.graph = std::move(graph);
  const auto sinks = std::ranges::count(made.graph.nodes(), node_kind::sink, &graph_node::kind);
  made.depths = {.from_loader = 1 + static_cast<std::uint32_t>(random() % 4),
                 .between_stages = 1 + static_cast<std::uint32_t>(random() % 6)};
  made.calls.clear();
  for (std::uint64_t calls = 1 + random() % 3; calls > 0; --calls) made.calls.push_back(random() % call_size_max);
  for (call_number call = 0; call < made.calls.size(); ++call) {
    if (random() % 3 != 0) continue;
    call_start& start = made.starts[call];
    for (auto sink = sinks; sink > 0; --sink) start.folded.push_back(random() % (made.calls[call] + 1));
  }
  const auto plan = expand(made.graph);
  TROUPE_CHECK(plan, "the graphs of tests are valid");
  if (seed % 2 == 0) made.micro_batch_bytes = limits::window_bytes / (1 + seed % 31);
  made.is_rereadable = random() % 2 == 0;
  for (const wired_instance& each : plan->instances) {
    if (random() % 4 == 0) made.slowness[each.address] = 2 + static_cast<std::uint32_t>(random() % 10);
  }
  return made;
}

void add_failures(graph_case& given, std::uint64_t seed) {
  std::mt19937_64 random{seed * 3571 + 7};
  for (const graph_node& node : given.graph.nodes()) {
    if (node.kind == node_kind::source || node.kind == node_kind::sink) continue;
    for (call_number call = 0; call < given.calls.size(); ++call) {
      const micro_batch_id id{call, random() % call_size_max};
      if (random() % 4 == 0) given.fail_once.insert({node.name, id});
      if (random() % 12 == 0) given.fail_always.insert({node.name, id});
    }
  }
}

graph_report simulate(const graph_case& given) {
  graph_report report;
  stepped_options options;
  options.seed = given.seed;
  options.graph = given.graph;
  options.make_body = [&](const wired_node& node, stage_address) { return make_graph_body(given, node); };
  options.calls = make_graph_calls(given, report.folds);
  options.depths = given.depths;
  options.deaths_per_10000 = given.deaths_per_10000;
  options.deaths_max = given.deaths_max;
  options.actor_deaths_per_10000 = given.actor_deaths_per_10000;
  options.actor_deaths_max = given.actor_deaths_max;
  options.slowness = given.slowness;
  options.cancels = given.cancels;
  options.deduplicate = given.deduplicate;
  options.enforce_credits = given.enforce_credits;
  static_cast<stepped_report&>(report) = run_stepped(std::move(options));
  for (const auto& of_call : report.folds) {
    for (const auto& each : of_call) report.moves_digest = mix(report.moves_digest, each->digest);
  }
  return report;
}

std::string fault_in(const graph_case& given, const graph_report& report) {
  if (report.deadlock) return "the run did not end";
  if (report.overrun) return "an edge held more micro-batches than it has slots";
  if (report.kept_max > kept_limit(report, given.micro_batch_bytes))
    return "the loader ran further ahead than its window";
  for (call_number call = 0; call < given.calls.size(); ++call) {
    const std::string fault = fault_in_call(given, report, call);
    if (!fault.empty()) return "call " + std::to_string(call) + ": " + fault;
  }
  return {};
}

std::uint64_t first_of(const graph_case& given, call_number call, std::size_t sink) {
  const auto found = given.starts.find(call);
  return found == given.starts.end() ? 0 : found->second.folded.at(sink);
}

std::string describe(const graph_case& given) {
  std::ostringstream text;
  text << "seed " << given.seed << ", slots " << given.depths.from_loader << " and " << given.depths.between_stages
       << ", bytes " << given.micro_batch_bytes << (given.is_rereadable ? ", read again" : "") << ", deaths "
       << given.deaths_max << ", calls";
  for (const std::uint64_t count : given.calls) text << ' ' << count;
  for (const auto& [call, start] : given.starts) text << ", call " << call << " from " << start.first();
  for (const auto& [address, slow] : given.slowness) {
    text << ", " << address.stage << '/' << address.replica << " slow by " << slow;
  }
  for (const auto& [move, call] : given.cancels) text << ", call " << call << " given up at move " << move;
  for (const auto& [node, id] : given.fail_always) text << ", " << node << " fails " << to_string(id);
  text << '\n' << describe(given.graph);
  return text.str();
}

}  // namespace troupe::testing
