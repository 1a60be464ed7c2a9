#include "graph_case.hpp"

#include <algorithm>
#include <random>
#include <sstream>

#include "graph_bodies.hpp"
#include "graph_reference.hpp"
#include "messages/check.hpp"
#include "messages/limits.hpp"

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
  const bool given_up = given.cancels.contains(call);
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

/// The most that the loader may have kept.
std::uint64_t kept_limit(const graph_report& report, std::uint64_t micro_batch_bytes) {
  if (micro_batch_bytes == 0) return report.window;
  const std::uint64_t fit = (limits::window_bytes + micro_batch_bytes - 1) / micro_batch_bytes;
  return std::min(report.window, std::max(report.window_min, fit));
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
  if (seed % 2 == 0) made.micro_batch_bytes = limits::window_bytes / (1 + seed % 31);
  made.is_rereadable = random() % 2 == 0;
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

std::string fault_in(const graph_case& given, const graph_report& report) {
  if (report.deadlock) return "the run did not end";
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
       << ", bytes " << given.micro_batch_bytes << (given.is_rereadable ? ", read again" : "") << ", calls";
  for (const std::uint64_t count : given.calls) text << ' ' << count;
  for (const auto& [call, start] : given.starts) text << ", call " << call << " from " << start.first();
  for (const call_number call : given.cancels) text << ", call " << call << " given up";
  for (const auto& [node, id] : given.fail_always) text << ", " << node << " fails " << to_string(id);
  text << '\n';
  for (const graph_node& node : given.graph.nodes()) text << "  " << node.name << " x " << node.replicas << '\n';
  for (const graph_edge& edge : given.graph.edges()) {
    text << "  " << edge.from.node << '.' << edge.from.port << " -> " << edge.to.node << '.' << edge.to.port << '\n';
  }
  return text.str();
}

}  // namespace troupe::testing
