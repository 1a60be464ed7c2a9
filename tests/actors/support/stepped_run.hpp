#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "actors/call_ticket.hpp"
#include "runtime/engine/assembly.hpp"
#include "runtime/topology/stage_graph.hpp"
#include <troupe/trace_event.hpp>

namespace troupe::testing {

/// One call of a stepped run: what a ticket needs.
struct stepped_call {
  std::shared_ptr<micro_batch_source> source;
  std::function<std::shared_ptr<scorer>(std::uint32_t sink)> make_scorer;
  std::vector<std::shared_ptr<call_fold>> folds;
  /// Folded already; the source begins at start.first().
  call_start start = {};
};

/// A run of a chain with the production actors and engines in one thread, simulated edges, and a seed that
/// chooses what moves next.
struct stepped_options {
  std::uint64_t seed = 0;
  stage_graph graph;
  std::function<std::shared_ptr<stage_body>(const wired_node& node, stage_address at)> make_body;
  /// All are submitted at the start.
  std::vector<stepped_call> calls;
  edge_depths depths = {.from_loader = 2, .between_stages = 1};
  /// Engines that move that much more seldom.
  std::map<stage_address, std::uint32_t> slowness;
  /// Mutant: off, the checks must find the fault.
  bool enforce_credits = true;
};

struct stepped_report {
  /// Of each call, as far as the run came.
  std::vector<call_outcome> outcomes;
  /// Digest of every choice: equal for equal seeds.
  std::uint64_t moves_digest = 0;
  std::uint64_t moves = 0;
  bool overrun = false;   ///< an edge held more than its slots
  bool deadlock = false;  ///< nothing could move, or it moved for ever, before all calls had ended
  std::uint64_t replayed = 0;
  std::uint64_t kept_max = 0;
  std::uint64_t window = 0;
  std::uint64_t window_min = 0;
  std::vector<trace_event> trace;
};

stepped_report run_stepped(stepped_options options);

/// The most that the loader may have kept, if each of its micro-batches has so many bytes.
std::uint64_t kept_limit(const stepped_report& report, std::uint64_t micro_batch_bytes);

}  // namespace troupe::testing
