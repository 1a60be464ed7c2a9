#pragma once

#include <cstdint>
#include <memory>

#include "messages/payload.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// loader -> first stage (LoadMicroBatch) and stage -> stage (SendActivation / RecvActivation), over an edge.
/// Takes one credit of the receiver. Passengers (labels) ride along untouched to where the outputs are scored.
/// Behind a route an activation is a part: it keeps the id, and an empty part travels too (without tensors), so that
/// every id closes everywhere.
struct activation {
  micro_batch_id id;
  sample_range samples;
  incarnation_number sender_incarnation = 0;
  payload_ptr tensors;
  payload_ptr labels;
  /// Null: the whole micro-batch.
  row_set_ptr rows = nullptr;

  [[nodiscard]] std::uint64_t row_count() const noexcept { return rows ? rows->size() : samples.size(); }
  [[nodiscard]] bool is_empty_part() const noexcept { return rows && rows->empty(); }
};

}  // namespace troupe
