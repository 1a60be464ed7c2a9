#pragma once

#include <troupe/messages/ids.hpp>
#include <troupe/messages/payload.hpp>

namespace troupe {

/// loader -> first stage (LoadMicroBatch) and stage -> stage (SendActivation / RecvActivation), over an edge.
/// Takes one credit of the receiver. Passengers (labels) ride along untouched to where the outputs are scored.
struct activation {
  micro_batch_id id;
  sample_range samples;
  incarnation_number sender_incarnation = 0;
  payload_ptr tensors;
  payload_ptr passengers;
};

}  // namespace troupe
