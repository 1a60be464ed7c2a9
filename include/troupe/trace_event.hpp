#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <troupe/ids.hpp>
#include <troupe/instruction.hpp>

namespace troupe {

/// One instruction that one engine executed. Stages are numbered 0 to S-1; the loader and the sinks record nothing.
struct trace_event {
  /// A number from one counter of the run. A send draws it before the micro-batch leaves, and a receive after it came,
  /// so that causes have smaller numbers than effects.
  std::uint64_t order = 0;
  stage_address where;
  instruction_kind what = instruction_kind::load_micro_batch;
  micro_batch_id id;
  /// Micro-batches go through an engine's buffers in turn: the k-th it takes is in buffer k % num_pipe_buffers.
  std::uint32_t buffer = 0;

  friend bool operator==(const trace_event&, const trace_event&) = default;
};

/// "ForwardPass of call 0, micro-batch 3 (order 17)".
std::string to_string(const trace_event& event);

/// One JSON object per line, in the order of the list:
/// {"order":17,"stage":1,"replica":0,"op":"ForwardPass","call":0,"micro_batch":3,"buffer":1}
std::string trace_json_lines(std::span<const trace_event> events);

}  // namespace troupe
