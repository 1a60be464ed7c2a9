#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe {

/// What an envelope carries. Numbers are part of the wire format: never changed, never used again. 1 to 15 travel on
/// edges (4 to 7 are kept for gradients, which flow the other way), 16 and up on the control plane.
enum class message_kind : std::uint8_t {
  activation = 1,   ///< producer -> consumer: header of one micro-batch; its tensors follow on the edge
  credit = 2,       ///< consumer -> producer: slots are free again
  end_of_call = 3,  ///< producer -> consumer: flush; loader -> aggregator: how many micro-batches a call has

  stage_ready = 16,    ///< stage -> director
  begin_call = 17,     ///< director -> aggregator, stages, loader
  end_call = 18,       ///< director -> loader, stages, aggregator
  cancel_call = 19,    ///< director -> loader, stages, aggregator
  low_water = 20,      ///< aggregator -> loader
  stop_request = 21,   ///< director -> loader, stages
  stopped = 22,        ///< loader, stages -> director
  call_progress = 23,  ///< aggregator -> monitor
  score = 24,          ///< last stage -> aggregator: one micro-batch
  score_batch = 25,    ///< last stage -> aggregator: several micro-batches
  failure = 26,        ///< loader, stages -> director
  error = 27,          ///< receiver of a request -> its sender: cause of a refusal

  worker_hello = 28,       ///< worker -> driver
  worker_assignment = 29,  ///< driver -> worker
  wiring_order = 30,       ///< driver -> worker
  call_opened = 31,        ///< stage -> director
  edge_lost = 32,          ///< worker -> driver
  edge_damaged = 33,       ///< worker -> driver
};

/// The enumerator's name; "unknown" for any other number.
std::string_view name_of(message_kind kind) noexcept;
/// Nothing if no kind has this number.
std::optional<message_kind> kind_from(std::uint64_t number) noexcept;

}  // namespace troupe
