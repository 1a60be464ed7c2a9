#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/call_ticket.hpp"
#include "runtime/topology/stage_graph.hpp"
#include "runtime/wiring/edge_depths.hpp"
#include "tests/actors/support/hashes.hpp"
#include <troupe/ids.hpp>

namespace troupe::testing {

/// What the body of one node does wrong, on purpose.
enum class body_fault : std::uint8_t {
  none,
  loses_a_row,        ///< the last of a part
  repeats_a_row,      ///< the first in place of the last, where there are two
  takes_old_tensors,  ///< those of the micro-batch before
  forgets_an_input,   ///< the last port of several
};

/// A graph and what it is to run: calls of samples that are numbers.
struct graph_case {
  std::uint64_t seed = 0;
  stage_graph graph;
  /// Micro-batches of each call; all calls are submitted at the start.
  std::vector<std::uint64_t> calls = {1};
  /// By call: where it is resumed, for each sink how many micro-batches were folded. A call without starts at 0.
  std::map<call_number, call_start> starts = {};
  edge_depths depths = {.from_loader = 2, .between_stages = 1};
  /// That the loader takes each micro-batch for, so that its window holds fewer; 0: not known.
  std::uint64_t micro_batch_bytes = 0;
  bool is_rereadable = false;
  /// Calls given up: such a call may end either way.
  std::set<call_number> cancels;
  /// Forwards of a node that fail the first time / every time.
  std::set<std::pair<std::string, micro_batch_id>> fail_once;
  std::set<std::pair<std::string, micro_batch_id>> fail_always;
  std::string faulty_node;
  body_fault fault = body_fault::none;
  /// Turns of a busy loop in each forward, at the most.
  std::uint64_t work = 0;
};

/// Graph and calls by the seed; nothing fails.
graph_case random_case(std::uint64_t seed, stage_graph graph);
/// Some forwards that fail, once or for good.
void add_failures(graph_case& given, std::uint64_t seed);

/// What a ticket needs.
struct graph_call {
  std::shared_ptr<micro_batch_source> source;
  std::function<std::shared_ptr<scorer>(std::uint32_t sink)> make_scorer;
  std::vector<std::shared_ptr<call_fold>> folds;
  /// Folded already; the source begins at start.first().
  call_start start = {};
};

struct graph_report {
  /// Of each call.
  std::vector<call_outcome> outcomes;
  /// [call][sink]
  std::vector<std::vector<std::shared_ptr<hash_fold>>> folds;
  /// It did not end in its time.
  bool deadlock = false;
  std::uint64_t kept_max = 0;
  std::uint64_t window = 0;
  std::uint64_t window_min = 0;
};

/// Empty if every sink folded every micro-batch of every call once, in order, with the numbers that a plain evaluation
/// of the graph gives, within all limits, and if just those calls failed that had to.
std::string fault_in(const graph_case& given, const graph_report& report);

/// Where the call begins for the sink.
std::uint64_t first_of(const graph_case& given, call_number call, std::size_t sink);

std::string describe(const graph_case& given);

}  // namespace troupe::testing
