#pragma once

#include <cstdint>
#include <vector>

#include "messages/payload.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// last stage -> aggregator, over the control plane, several at a time: what one sink's metrics know of one
/// micro-batch. Never merged on the stage, so that the aggregator can fold in id order and reproduce sums to the last
/// bit.
struct score {
  micro_batch_id id;
  std::uint32_t sink = 0;
  incarnation_number sender_incarnation = 0;
  std::uint64_t samples = 0;
  /// Metric states, one after another. Doubles travel as bit patterns: CAF 0.17 changes NaN and infinity on the wire.
  std::vector<std::uint64_t> words;
  /// Outputs, only if the call asked for them; null otherwise.
  payload_ptr outputs;
};

}  // namespace troupe
