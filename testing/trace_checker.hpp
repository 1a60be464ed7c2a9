#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/trace_event.hpp>

namespace troupe {

/// What makes a trace a legal execution of InferenceSchedule, per replica (docs/schedules.md). A stage executes for
/// every micro-batch that goes through its replica: a take (the first stage LoadMicroBatch, every other
/// RecvActivation), ForwardPass and, but for the last stage, SendActivation. The last stage's LoadMicroBatch falls
/// away, as labels ride along.
enum class trace_rule : std::uint8_t {
  place_exists,              ///< stage and replica belong to the run, and no two events have one order number
  belongs_to_schedule,       ///< only the instructions that InferenceSchedule gives this stage
  micro_batch_exists,        ///< the id belongs to one of the run's calls
  in_id_order,               ///< ids go through a stage upwards, each once
  one_replica,               ///< the stages of one replica see a micro-batch, and no others do
  receive_after_send,        ///< RecvActivation after the SendActivation of the stage before, in its order
  take_after_forward,        ///< a take after the ForwardPass of the micro-batch before
  forward_after_take,        ///< ForwardPass after its own take
  forward_after_send,        ///< ForwardPass after the SendActivation of the micro-batch before
  send_after_forward,        ///< SendActivation after its own ForwardPass
  buffers_in_turn,           ///< the k-th micro-batch a stage takes is in buffer k % num_pipe_buffers, to its end
  buffer_is_free,            ///< no take into a buffer whose micro-batch has not been sent (last stage: computed)
  live_within_pipe_buffers,  ///< from the upstream send to the own send (last stage: forward) at most num_pipe_buffers
  complete,                  ///< every micro-batch of every call went through every stage
};
inline constexpr std::size_t trace_rules = 14;

/// "send after forward", as the errors write it.
std::string_view trace_rule_name(trace_rule rule);

/// The run a trace is said to be of.
struct traced_run {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  /// Per stage, or one number for all.
  std::vector<std::uint32_t> num_pipe_buffers = {2};
  /// Micro-batches of call 0, 1, ...; all of them were executed to their end.
  std::vector<std::uint64_t> micro_batches;
};

/// Goes through the events by order number (any order of the span) and stops at the first that breaks a rule. The error
/// is E0601; `where` names stage, replica and micro-batch, `cause` begins with the rule. Order numbers must be drawn as
/// trace_recorder says; then no correct run is refused. Precondition: stages >= 1, replicas >= 1, buffers >= 1.
expected<void> check_trace(const traced_run& run, std::span<const trace_event> events);

}  // namespace troupe
