#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "messages/payload.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// loader -> first stage (LoadMicroBatch) and stage -> stage (SendActivation / RecvActivation), over an edge.
/// Takes one credit of the receiver. Labels travel along untouched to where the outputs are scored.
/// Behind a route an activation is a part, and keeps the id. An empty part travels too (without tensors), so that every
/// node behind the route receives every id, and closes it.
struct activation {
  micro_batch_id id;
  sample_range samples;
  /// One row per sample of this part; null in an empty part.
  payload_ptr tensors;
  /// Rows as `tensors`; null where the data have no labels.
  payload_ptr labels;
  /// Which rows of the micro-batch are in this part. Null: all.
  row_set_ptr rows = nullptr;

  [[nodiscard]] std::uint64_t row_count() const noexcept { return rows ? rows->size() : samples.size(); }
  [[nodiscard]] bool is_empty_part() const noexcept { return rows && rows->empty(); }
};

/// "call 1, micro-batch 300 (samples 3000 to 3063)": where an error happened.
inline std::string place_of(const activation& each) {
  return to_string(each.id) + " (samples " + std::to_string(each.samples.begin) + " to " +
         std::to_string(each.samples.end - 1) + ")";
}

}  // namespace troupe
